import Foundation

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// An open file of this machine whose bytes are sent.
struct BodyFile: Sendable {
    let handle: FileHandle
    let size: Int64

    /// Opens a file, also through a symbolic link; blocks.
    ///
    /// - Throws: ``TransportFailure`` of the kind `unreadable`, also for anything but a regular
    ///   file: only that has a size, and can be read again from an offset.
    init(_ file: URL) throws(TransportFailure) {
        // Otherwise a FIFO would wait for somebody who writes to it.
        let descriptor = open(file.path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw TransportFailure(unreadable: file, String(cString: strerror(errno)))
        }
        handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw TransportFailure(unreadable: file, String(cString: strerror(errno)))
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw TransportFailure(unreadable: file, "Not a regular file")
        }
        size = Int64(status.st_size)
        guard size == 0 else { return }
        // A file of /proc has bytes although its size is 0.
        var byte: UInt8 = 0
        guard pread(descriptor, &byte, 1, 0) == 0 else {
            throw TransportFailure(unreadable: file, "Its size is not known")
        }
    }
}

extension TransportFailure {
    /// Describes why a file cannot be sent.
    init(unreadable file: URL, _ reason: String) {
        self.init(.unreadable, "\(file.path) cannot be read: \(reason)")
    }
}
