import Foundation
import NIOPosix

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// A file that gets its name once it is complete.
///
/// Where the system has files without a name, it is one until then, and a process that ends before
/// leaves nothing.
struct FileWriter: Sendable {
    /// A call of the system that failed.
    struct Failure: Error, CustomStringConvertible {
        let number: Int32

        /// Whether another file has the name.
        var isOfExistingFile: Bool { number == EEXIST }

        var description: String { String(cString: strerror(number)) }

        /// Throws the failure of the last call unless its result is 0.
        fileprivate static func check(_ result: Int32) throws(Failure) {
            if result != 0 { throw Failure(number: errno) }
        }
    }

    #if os(Linux)
        /// O_TMPFILE of open(2), which has no form in Swift.
        private static let unnamedFlags = 0o20_000_000 | O_DIRECTORY
    #endif

    private let target: URL
    /// A name beside the target.
    private let temporary: URL
    private let handle: FileHandle
    /// Whether the file does not have the temporary name.
    private let isUnnamed: Bool

    /// Creates an empty file beside `target`.
    ///
    /// `unnamed` is false in tests of what is done where the system has no files without a name.
    init(for target: URL, unnamed: Bool = true) async throws {
        self.target = target
        // Without the name of the target, which may be as long as a name can be.
        let temporary = target.deletingLastPathComponent()
            .appending(path: ".\(UUID().uuidString)")
        self.temporary = temporary
        (handle, isUnnamed) = try await NIOThreadPool.singleton.runIfActive {
            () throws -> (FileHandle, Bool) in
            if unnamed, let handle = Self.unnamedFile(in: target.deletingLastPathComponent()) {
                return (handle, true)
            }
            let descriptor = open(temporary.path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
            guard descriptor >= 0 else { throw Failure(number: errno) }
            return (FileHandle(fileDescriptor: descriptor, closeOnDealloc: true), false)
        }
    }

    /// Returns a new file without a name; nil where there is no such thing, or no way to name it.
    private static func unnamedFile(in directory: URL) -> FileHandle? {
        #if os(Linux)
            let descriptor = open(directory.path, unnamedFlags | O_WRONLY | O_CLOEXEC, 0o644)
            guard descriptor >= 0 else { return nil }
            let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
            return access(path(of: handle), F_OK) == 0 ? handle : nil
        #else
            return nil
        #endif
    }

    /// Returns the name of an open file by which it can be linked (open(2), O_TMPFILE).
    private static func path(of handle: FileHandle) -> String {
        "/proc/self/fd/\(handle.fileDescriptor)"
    }

    /// Writes bytes behind those that were written before.
    func append(_ bytes: [UInt8]) async throws {
        let handle = handle
        try await NIOThreadPool.singleton.runIfActive {
            var rest = bytes[...]
            while !rest.isEmpty {
                let (count, number) = rest.withUnsafeBytes { buffer in
                    (write(handle.fileDescriptor, buffer.baseAddress, buffer.count), errno)
                }
                if count >= 0 {
                    rest = rest.dropFirst(count)
                } else if number != EINTR {
                    throw Failure(number: number)
                }
            }
        }
    }

    /// Makes the bytes durable and gives the file its name, durably too.
    ///
    /// - Throws: ``Failure`` with `EEXIST` when another file has the name and must keep it.
    func publish(overwrite: Bool) async throws {
        try await NIOThreadPool.singleton.runIfActive { [self] in
            try Failure.check(fsync(handle.fileDescriptor))
            if overwrite {
                if isUnnamed { try giveName(temporary) }
                // A file system of a network may tell only now that bytes were lost.
                try handle.close()
                try Failure.check(rename(temporary.path, target.path))
            } else if isUnnamed {
                try giveName(target)
            } else {
                try handle.close()
                try Self.name(temporary.path, as: target.path)
            }
            try Self.synchronize(target.deletingLastPathComponent())
        }
    }

    /// Gives the file without a name one that is free.
    private func giveName(_ file: URL) throws(Failure) {
        try Failure.check(
            linkat(AT_FDCWD, Self.path(of: handle), AT_FDCWD, file.path, AT_SYMLINK_FOLLOW)
        )
    }

    /// Gives a file another name, which no other file may have.
    private static func name(_ temporary: String, as target: String) throws(Failure) {
        // A link never replaces a file, where a rename would.
        if link(temporary, target) == 0 {
            unlink(temporary)
            return
        }
        switch errno {
        case EPERM, ENOTSUP, ENOSYS: try claim(target, for: temporary)
        case let number: throw Failure(number: number)
        }
    }

    /// Renames a file where there are no hard links, as on FAT: an empty file takes the name
    /// before, and is replaced.
    static func claim(_ target: String, for temporary: String) throws(Failure) {
        let descriptor = open(target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw Failure(number: errno) }
        close(descriptor)
        guard rename(temporary, target) != 0 else { return }
        let failure = Failure(number: errno)
        unlink(target)
        throw failure
    }

    /// Makes the names in a directory durable: the service's copy may be removed next.
    private static func synchronize(_ directory: URL) throws(Failure) {
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
        // The error that led here is the one to tell. A file without a name ends by itself.
        _ = try? await NIOThreadPool.singleton.runIfActive { unlink(temporary.path) }
    }
}
