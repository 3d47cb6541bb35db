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

    /// Makes the bytes durable and gives the file its name.
    ///
    /// - Throws: ``Failure`` with `EEXIST` when another file has the name and must keep it.
    func publish(overwrite: Bool) async throws {
        let (handle, temporary, target) = (handle, temporary, target)
        try await NIOThreadPool.singleton.runIfActive {
            try handle.synchronize()
            try handle.close()
            guard overwrite else {
                // A link never replaces a file, where a rename would.
                guard link(temporary.path, target.path) == 0 else { throw Failure(number: errno) }
                unlink(temporary.path)
                return
            }
            guard rename(temporary.path, target.path) == 0 else { throw Failure(number: errno) }
        }
    }

    /// Removes what was written.
    func discard() async {
        let temporary = temporary
        // The error that led here is the one to tell.
        _ = try? await NIOThreadPool.singleton.runIfActive { unlink(temporary.path) }
    }
}
