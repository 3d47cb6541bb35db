import Foundation

/// A fresh directory for one run, reachable by servers that run as other users.
struct Folder {
    let path: String

    init(in parent: String) throws {
        path = "\(parent)/transferd-bench-\(UUID().uuidString.lowercased())"
        try FileManager.default.createDirectory(
            atPath: path,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o755]
        )
    }

    /// Makes a new directory in the folder.
    ///
    /// Nothing is removed before the end: ext4 is slow to create files where others were deleted in
    /// the last minutes, which would slow down the next contender.
    func directory(_ name: String) throws -> String {
        let path = "\(path)/\(name)-\(UUID().uuidString.lowercased())"
        try FileManager.default.createDirectory(
            atPath: path,
            withIntermediateDirectories: true
        )
        return path
    }

    func write(_ text: String, to name: String) throws -> String {
        let path = "\(path)/\(name)"
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        return path
    }

    func remove() { try? FileManager.default.removeItem(atPath: path) }
}
