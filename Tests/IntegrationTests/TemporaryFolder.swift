import Foundation

/// An empty folder of one test, removed with it.
final class TemporaryFolder: Sendable {
    let path = "/tmp/transferd-integration-\(UUID().uuidString.lowercased())"

    init() throws {
        try FileManager.default.createDirectory(
            atPath: path,
            withIntermediateDirectories: false
        )
    }

    deinit {
        // A folder that stays is no harm to the result of a test.
        try? FileManager.default.removeItem(atPath: path)
    }

    /// Writes a file into it, and the folders that lead there.
    func write(_ text: String, to name: String) throws {
        let file = URL(filePath: "\(path)/\(name)")
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(),
            withIntermediateDirectories: true
        )
        try text.write(to: file, atomically: false, encoding: .utf8)
    }
}
