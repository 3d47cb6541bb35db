import CLinux
import Glibc
import Synchronization

/// The file systems of a container: that of its directory, and those that are mounted beneath it.
final class FileSystems: Sendable {
    private let root: Int32
    private let device: dev_t

    private struct Others {
        /// An open directory on each of the others, which stays in use until the end of the
        /// process.
        var directories: [dev_t: Int32] = [:]
        /// The devices that files tell which are in directories on file systems that are known: an
        /// overlay with layers on several file systems tells that of a layer.
        var ofFiles: Set<dev_t> = []
    }

    private let others = Mutex(Others())

    /// Begins with the file system of `root`, which stays the caller's.
    init(root: Int32) {
        self.root = root
        device = Self.device(of: root) ?? 0
    }

    deinit { others.withLock { for directory in $0.directories.values { close(directory) } } }

    /// Notes the file system of an open file in `directory`, or of that directory itself, so that
    /// ``sync()`` flushes it too.
    ///
    /// - Throws: ``StorageError`` when it could not be flushed later.
    func note(_ descriptor: Int32, in directory: @autoclosure () -> String) throws(StorageError) {
        let own = Self.device(of: descriptor)
        guard own != device else { return }
        try others.withLock { others throws(StorageError) in
            guard let own else { throw StorageError(operation: "fstat", errno: errno) }
            guard others.directories[own] == nil, !others.ofFiles.contains(own) else { return }
            let flags = O_RDONLY | O_DIRECTORY
            let opened = clinux_open_beneath(root, directory(), flags, 0)
            guard opened >= 0 else { throw StorageError(operation: "openat2", errno: errno) }
            let place = Self.device(of: opened)
            guard let place, place == own || Self.areOnOneMount(descriptor, opened) else {
                close(opened)
                throw StorageError(operation: "fstat", errno: ESTALE)
            }
            if place != own { others.ofFiles.insert(own) }
            guard place != device, others.directories[place] == nil else {
                close(opened)
                return
            }
            others.directories[place] = opened
        }
    }

    private static func areOnOneMount(_ file: Int32, _ directory: Int32) -> Bool {
        let mount = clinux_mount_of(file)
        return mount >= 0 && mount == clinux_mount_of(directory)
    }

    /// Makes everything written to them durable, by syncfs(2).
    func sync() throws(StorageError) {
        for directory in [root] + others.withLock({ Array($0.directories.values) }) {
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
