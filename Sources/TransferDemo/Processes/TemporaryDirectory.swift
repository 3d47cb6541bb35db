import Foundation
import Glibc

/// A directory that is removed after the demo.
struct TemporaryDirectory: Sendable {
    let path: String

    /// Creates one in `/tmp`, which a database that runs as another user can reach too.
    init() throws(DemoError) {
        path = "/tmp/transferd-demo.\(UUID().uuidString.lowercased())"
        // An existing name is refused; the umask must not keep the database out.
        guard mkdir(path, 0o755) == 0, chmod(path, 0o755) == 0 else {
            throw .directoryNotCreated(path)
        }
    }

    /// Removes the directory and returns whether nothing is left of it.
    func remove() -> Bool {
        do {
            try FileManager.default.removeItem(atPath: path)
            return true
        } catch {
            return false
        }
    }
}
