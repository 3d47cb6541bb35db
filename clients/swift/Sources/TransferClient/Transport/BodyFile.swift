import Foundation

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// An open file of this machine whose bytes are sent.
///
/// All requests with its bytes read this very file, whatever has its name by then.
struct BodyFile: Sendable {
    /// What tells a file from another one, and from itself after it was written to.
    private struct Version: Equatable, Sendable {
        let device, inode, size, seconds, nanoseconds: Int64

        init(_ status: stat) {
            #if canImport(Darwin)
                let modified = status.st_mtimespec
            #else
                let modified = status.st_mtim
            #endif
            device = Int64(truncatingIfNeeded: status.st_dev)
            inode = Int64(truncatingIfNeeded: status.st_ino)
            size = Int64(status.st_size)
            seconds = Int64(modified.tv_sec)
            nanoseconds = Int64(modified.tv_nsec)
        }
    }

    let file: URL
    private let handle: FileHandle
    private let version: Version

    var size: Int64 { version.size }

    /// Opens a file, also through a symbolic link; blocks.
    ///
    /// - Throws: ``TransportFailure`` of the kind `unreadable`, also for anything but a regular
    ///   file: only that has a size, and can be read again from an offset.
    init(_ file: URL) throws(TransportFailure) {
        self.file = file
        // Otherwise a FIFO would wait for somebody who writes to it.
        let descriptor = open(file.path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { throw TransportFailure(unreadable: file, number: errno) }
        handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw TransportFailure(unreadable: file, number: errno)
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw TransportFailure(unreadable: file, "Not a regular file")
        }
        version = Version(status)
        guard size == 0 else { return }
        // A file of /proc has bytes although its size is 0.
        var byte: UInt8 = 0
        guard pread(descriptor, &byte, 1, 0) == 0 else {
            throw TransportFailure(unreadable: file, "Its size is not known")
        }
    }

    /// Reads up to `count` bytes from an offset, none behind the end; blocks.
    func read(_ count: Int, at offset: Int64) throws(TransportFailure) -> [UInt8] {
        var number: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            var result: Int
            repeat {
                result = pread(handle.fileDescriptor, buffer.baseAddress, count, off_t(offset))
            } while result < 0 && errno == EINTR
            if result < 0 { number = errno }
            filled = max(0, result)
        }
        guard number == 0 else { throw TransportFailure(unreadable: file, number: number) }
        return bytes
    }

    /// Checks that the file is as it was when it was opened; blocks.
    ///
    /// - Throws: ``TransportFailure`` of the kind `unreadable` when it was written to, after which
    ///   bytes from before and from now would make a file that never was.
    func checkUnchanged() throws(TransportFailure) {
        var status = stat()
        guard fstat(handle.fileDescriptor, &status) == 0 else {
            throw TransportFailure(unreadable: file, number: errno)
        }
        guard Version(status) == version else { throw TransportFailure(changed: file) }
    }

    /// Checks that the name still leads to this file, as it was when it was opened; blocks.
    ///
    /// - Throws: ``TransportFailure`` of the kind `unreadable`.
    func checkNamed() throws(TransportFailure) {
        guard try BodyFile(file).version == version else { throw TransportFailure(changed: file) }
    }
}

extension TransportFailure {
    /// Describes why a file cannot be sent.
    init(unreadable file: URL, _ reason: String) {
        self.init(.unreadable, "\(file.path) cannot be read: \(reason)")
    }

    /// Describes a call of the system that failed, by its number.
    fileprivate init(unreadable file: URL, number: Int32) {
        self.init(unreadable: file, String(cString: strerror(number)))
    }

    fileprivate init(changed file: URL) {
        self.init(unreadable: file, "It has been changed while it was sent")
    }
}
