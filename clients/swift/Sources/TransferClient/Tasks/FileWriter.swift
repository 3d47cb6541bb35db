import Foundation
import NIOPosix

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// A file that gets its name once it is complete.
struct FileWriter: Sendable {
    /// A call of the system that failed.
    struct Failure: Error, CustomStringConvertible {
        let number: Int32

        /// Whether another file has the name.
        var isOfExistingFile: Bool { number == EEXIST }

        var description: String { String(cString: strerror(number)) }
    }

    private let target: URL
    private let temporary: URL
    private let handle: FileHandle

    /// Creates an empty file beside `target`.
    init(for target: URL) async throws {
        self.target = target
        let temporary = target.deletingLastPathComponent()
            .appending(path: ".\(target.lastPathComponent).\(UUID().uuidString)")
        self.temporary = temporary
        handle = try await NIOThreadPool.singleton.runIfActive {
            let descriptor = open(temporary.path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
            guard descriptor >= 0 else { throw Failure(number: errno) }
            return FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        }
    }

    func write(_ bytes: [UInt8]) async throws {
        let handle = handle
        try await NIOThreadPool.singleton.runIfActive { try handle.write(contentsOf: Data(bytes)) }
    }

    /// Makes the bytes durable and gives the file its name, durably too.
    ///
    /// - Throws: ``Failure`` with `EEXIST` when another file has the name and must keep it.
    func publish(overwrite: Bool) async throws {
        let (handle, temporary, target) = (handle, temporary, target)
        try await NIOThreadPool.singleton.runIfActive {
            try handle.synchronize()
            try handle.close()
            if overwrite {
                guard rename(temporary.path, target.path) == 0 else {
                    throw Failure(number: errno)
                }
            } else {
                // A link never replaces a file, where a rename would.
                guard link(temporary.path, target.path) == 0 else { throw Failure(number: errno) }
                unlink(temporary.path)
            }
            try Self.synchronize(target.deletingLastPathComponent())
        }
    }

    /// Makes the names in a directory durable: the service's copy may be removed next.
    private static func synchronize(_ directory: URL) throws {
        let descriptor = open(directory.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else {
            // One that may be written to and not read cannot be flushed.
            if errno == EACCES { return }
            throw Failure(number: errno)
        }
        defer { close(descriptor) }
        // Some file systems, such as those of a network, flush no directories (fsync(2)).
        guard fsync(descriptor) == 0 || errno == EINVAL else { throw Failure(number: errno) }
    }

    /// Removes what was written.
    func discard() async {
        let temporary = temporary
        // The error that led here is the one to tell.
        _ = try? await NIOThreadPool.singleton.runIfActive { unlink(temporary.path) }
    }
}
