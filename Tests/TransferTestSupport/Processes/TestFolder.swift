import Foundation
import Synchronization

/// An empty folder of one test, removed with the last reference to it.
///
/// It is in the directory of the run, and is removed with that when a run was killed.
package final class TestFolder: Sendable {
    /// The path, short enough for the sockets of servers in it.
    package let path: String

    private static let count = Atomic(0)

    /// Makes the folder; `kind` becomes part of its name and says its purpose.
    ///
    /// - Throws: the errors of the file system.
    package init(_ kind: String) throws {
        let number = Self.count.add(1, ordering: .relaxed).newValue
        path = "\(RunDirectory.path)/\(kind)-\(number)"
        try FileManager.default.createDirectory(
            atPath: path,
            withIntermediateDirectories: false
        )
    }

    // A folder that remains does not affect the result of a test, and is removed with the run.
    deinit { try? remove() }

    /// Removes the folder before its end.
    package func remove() throws { try FileManager.default.removeItem(atPath: path) }

    /// Writes a file into the folder, and makes the folders that lead there.
    package func write(_ text: String, to name: String) throws {
        let file = URL(filePath: "\(path)/\(name)")
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(),
            withIntermediateDirectories: true
        )
        try text.write(to: file, atomically: false, encoding: .utf8)
    }
}
