import CLinux
import Glibc
import Synchronization

/// The file systems of a container: that of its directory, and those that are mounted beneath it.
final class FileSystems: Sendable {
    private let root: Int32
    private let device: dev_t
    /// An open directory on each of the others, which stays in use until the end of the process.
    private let mounted = Mutex<[dev_t: Int32]>([:])

    /// Begins with the file system of `root`, which stays the caller's.
    init(root: Int32) {
        self.root = root
        device = Self.device(of: root) ?? 0
    }

    deinit { mounted.withLock { for directory in $0.values { close(directory) } } }

    /// Notes the file system of an open file in `directory`, or of that directory itself, so that
    /// ``sync()`` flushes it too.
    ///
    /// - Throws: ``StorageError`` when it could not be flushed later.
    func note(_ descriptor: Int32, in directory: @autoclosure () -> String) throws(StorageError) {
        let own = Self.device(of: descriptor)
        guard own != device else { return }
        try mounted.withLock { mounted throws(StorageError) in
            guard let own else { throw StorageError(operation: "fstat", errno: errno) }
            guard mounted[own] == nil else { return }
            let flags = O_RDONLY | O_DIRECTORY
            let opened = clinux_open_beneath(root, directory(), flags, 0)
            guard opened >= 0 else { throw StorageError(operation: "openat2", errno: errno) }
            guard Self.device(of: opened) == own else {
                close(opened)
                throw StorageError(operation: "fstat", errno: ESTALE)
            }
            mounted[own] = opened
        }
    }

    /// Makes everything written to them durable, by syncfs(2).
    func sync() throws(StorageError) {
        for directory in [root] + mounted.withLock({ Array($0.values) }) {
            guard clinux_syncfs(directory) == 0 else {
                throw StorageError(operation: "syncfs", errno: errno)
            }
        }
    }

    private static func device(of descriptor: Int32) -> dev_t? {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? status.st_dev : nil
    }
}
