import Foundation
import Glibc

/// A directory that is gone after the demo.
struct TemporaryDirectory: Sendable {
    let path: String

    /// Makes a new one in `/tmp`, which a database that runs as another user can reach too.
    init() throws(DemoError) {
        path = "/tmp/transferd-demo.\(UUID().uuidString.lowercased())"
        // A name that is already there is refused; the umask is not to keep the database out.
        guard mkdir(path, 0o755) == 0, chmod(path, 0o755) == 0 else {
            throw .directoryNotCreated(path)
        }
    }

    /// Whether nothing is left of it.
    func remove() -> Bool {
        do {
            try FileManager.default.removeItem(atPath: path)
            return true
        } catch {
            return false
        }
    }
}
