import Foundation
import Glibc

/// A file that this process has open, as it is after its disk has failed.
package enum UnflushableFile {
    /// The error thrown when the file is not open.
    package struct NotOpen: Error {}

    /// Has all descriptors of a file refuse to flush it, or to change its size.
    package static func make(at path: String) throws {
        var wanted = stat()
        guard stat(path, &wanted) == 0 else { throw NotOpen() }
        var pipes: [Int32] = [-1, -1]
        guard pipe(&pipes) == 0 else { throw NotOpen() }
        defer { for end in pipes { close(end) } }
        var isOpen = false
        for name in try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd") {
            var found = stat()
            guard let descriptor = Int32(name), fstat(descriptor, &found) == 0,
                found.st_dev == wanted.st_dev, found.st_ino == wanted.st_ino
            else { continue }
            // A pipe can do neither.
            guard dup2(pipes[0], descriptor) >= 0 else { throw NotOpen() }
            isOpen = true
        }
        guard isOpen else { throw NotOpen() }
    }
}
