import Foundation
import Glibc
import Testing

/// A folder of one test with a file system in memory of its own, for as long as it is referred to;
/// only root can make one.
package final class TmpfsFolder: Sendable {
    /// The folder at which it is mounted.
    package let folder: TestFolder
    /// The path of the folder.
    package var path: String { folder.path }

    /// Makes and mounts it; the test is cancelled where that is refused.
    ///
    /// - Parameters:
    ///   - kind: what becomes part of the folder's name and says its purpose.
    ///   - options: the options of the mount (tmpfs(5)), such as its size.
    /// - Throws: the errors of the file system that is there.
    package init(_ kind: String, _ options: String) throws {
        folder = try TestFolder(kind)
        try Self.mount(folder.path, options)
    }

    private static func mount(_ path: String, _ options: String) throws {
        guard Glibc.mount("tmpfs", path, "tmpfs", 0, options) == 0 else {
            try Test.cancel("this system does not let root mount: errno \(errno)")
        }
    }

    deinit { umount2(folder.path, Int32(MNT_DETACH)) }
}
