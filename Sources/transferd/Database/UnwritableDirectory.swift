import Foundation
import Glibc

/// The error for a directory that cannot be made, or in which this user can create no files.
struct UnwritableDirectory: Error, CustomStringConvertible {
    let path: String
    /// The error number of the system.
    let number: Int32

    /// Whether it may pass by itself: space is given back, and a file system is often remounted.
    var isTransient: Bool { [EROFS, ENOSPC, EDQUOT].contains(number) }

    var description: String {
        switch number {
        case EROFS:
            return "\(path) is on a file system that is mounted read-only: mount it for writing"
        case EACCES, EPERM:
            return """
                \(path) cannot be written: give it to the user of this service, or name another \
                data directory (TRANSFERD_DATA_DIRECTORY)
                """
        default:
            return """
                \(path) cannot be made a directory: \(String(cString: strerror(number))). Make \
                room for it, or name another data directory (TRANSFERD_DATA_DIRECTORY)
                """
        }
    }

    /// Makes a directory and those above it, unless it exists.
    static func make(_ path: String) throws {
        do {
            try FileManager.default.createDirectory(
                atPath: path,
                withIntermediateDirectories: true
            )
        } catch let error as CocoaError {
            // Its own text is for programmers.
            guard let cause = error.underlying as? POSIXError else { throw error }
            throw UnwritableDirectory(path: path, number: cause.code.rawValue)
        }
        guard access(path, W_OK) == 0 else {
            throw UnwritableDirectory(path: path, number: errno)
        }
    }
}
