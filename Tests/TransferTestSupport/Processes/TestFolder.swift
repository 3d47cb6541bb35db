import Foundation
import Synchronization

/// An empty folder of one test, removed with the last that holds it.
///
/// It is beneath the directory of the run, with which it goes where a run was killed.
package final class TestFolder: Sendable {
    /// Short enough for the sockets of servers in it.
    package let path: String

    private static let count = Atomic(0)

    /// Makes the folder; `kind` says in its name what it is for.
    ///
    /// - Throws: what the file system refuses.
    package init(_ kind: String) throws {
        let number = Self.count.add(1, ordering: .relaxed).newValue
        path = "\(RunDirectory.path)/\(kind)-\(number)"
        try FileManager.default.createDirectory(
            atPath: path,
            withIntermediateDirectories: false
        )
    }

    // One that stays is no harm to the result of a test, and goes with the run.
    deinit { try? remove() }

    /// Removes it before its end.
    package func remove() throws { try FileManager.default.removeItem(atPath: path) }

    /// Writes a file into it, and the folders that lead there.
    package func write(_ text: String, to name: String) throws {
        let file = URL(filePath: "\(path)/\(name)")
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(),
            withIntermediateDirectories: true
        )
        try text.write(to: file, atomically: false, encoding: .utf8)
    }
}
