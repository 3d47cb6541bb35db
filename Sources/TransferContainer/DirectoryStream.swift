import CLinux
import Glibc

/// The listing of a directory of a container; names are bytes, for Linux demands no encoding of
/// them.
enum DirectoryStream {
    /// Opens the directory at `path` beneath an open one, without following a link in its last
    /// part; whoever asks closes it.
    static func open(
        _ path: UnsafePointer<CChar>,
        in directory: Int32
    ) throws(StorageError) -> OpaquePointer {
        let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW
        let descriptor = clinux_open_beneath(directory, path, flags, 0)
        guard descriptor >= 0 else { throw StorageError(operation: "openat2", errno: errno) }
        guard let stream = fdopendir(descriptor) else {
            let code = errno
            close(descriptor)
            throw StorageError(operation: "fdopendir", errno: code)
        }
        return stream
    }

    /// Returns the name of an entry, with its NUL; nil for `.` and `..`.
    static func name(of item: UnsafeMutablePointer<dirent>) -> [CChar]? {
        let name = withUnsafePointer(to: &item.pointee.d_name) { pointer in
            pointer.withMemoryRebound(to: CChar.self, capacity: 256) {
                Array(UnsafeBufferPointer(start: $0, count: strlen($0) + 1))
            }
        }
        let dot = CChar(UInt8(ascii: "."))
        return name == [dot, 0] || name == [dot, dot, 0] ? nil : name
    }

    /// Returns the name of an entry; nil for `.` and `..`, and for a name that is not UTF-8, which
    /// is none of ours.
    static func text(of item: UnsafeMutablePointer<dirent>) -> String? {
        name(of: item).flatMap { String(validating: $0.dropLast(), as: UTF8.self) }
    }
}
