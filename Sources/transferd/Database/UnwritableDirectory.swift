import Foundation
import Glibc

/// The error for a directory in which this user can create no files.
struct UnwritableDirectory: Error, CustomStringConvertible {
    let path: String
    /// Whether the whole file system takes no changes; it is often remounted.
    var isFileSystemReadOnly = false

    var description: String {
        if isFileSystemReadOnly {
            return "\(path) is on a file system that is mounted read-only: mount it for writing"
        }
        return """
            \(path) cannot be written: give it to the user of this service, or name another data \
            directory (TRANSFERD_DATA_DIRECTORY)
            """
    }

    /// Makes a directory and those above it, unless it exists.
    static func make(_ path: String) throws {
        do {
            try FileManager.default.createDirectory(
                atPath: path,
                withIntermediateDirectories: true
            )
        } catch let error as CocoaError
            where [.fileWriteNoPermission, .fileWriteVolumeReadOnly].contains(error.code)
        {
            throw UnwritableDirectory(
                path: path,
                isFileSystemReadOnly: error.code == .fileWriteVolumeReadOnly
            )
        }
        guard access(path, W_OK) == 0 else {
            throw UnwritableDirectory(path: path, isFileSystemReadOnly: errno == EROFS)
        }
    }
}
