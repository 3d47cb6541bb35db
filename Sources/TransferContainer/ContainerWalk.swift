import CLinux
import Glibc
import TransferModel

/// A walk through the files beneath a folder of a container, depth first, without following links.
///
/// It holds a descriptor for each level and nothing else: folders may be of any size. Every call
/// blocks; the walk belongs to its creator.
package final class ContainerWalk {
    /// The maximum depth of nested folders; a destination has at most 512.
    private static let depthMax = 512

    private struct Level {
        let path: String
        let stream: OpaquePointer
    }

    /// A file as the folder lists it.
    package struct Entry {
        /// The path of the folder, relative to the container directory of all tenants.
        package let directory: String
        /// The name of the file in its folder.
        package let name: String
    }

    private let root: Int32
    private var levels: [Level] = []

    /// Starts at `path` beneath `root`, which is duplicated.
    init(root: Int32, path: String) throws(StorageError) {
        self.root = fcntl(root, F_DUPFD_CLOEXEC, 0)
        guard self.root >= 0 else { throw StorageError(operation: "dup", errno: errno) }
        enter(path)
    }

    deinit {
        for level in levels { closedir(level.stream) }
        close(root)
    }

    /// Returns the next entry that is not a folder; nil after the last one.
    package func next() -> Entry? {
        while let level = levels.last {
            guard let item = readdir(level.stream) else {
                closedir(level.stream)
                levels.removeLast()
                continue
            }
            let name = withUnsafePointer(to: &item.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) {
                    String(validatingCString: $0)
                }
            }
            // A name that is not UTF-8 is none of ours.
            guard let name, name != ".", name != ".." else { continue }
            let path = "\(level.path)/\(name)"
            switch Int(item.pointee.d_type) {
            case Int(DT_DIR): enter(path)
            // Some file systems do not tell; an entry that is not a folder then cannot be entered.
            case Int(DT_UNKNOWN) where enter(path): break
            default: return Entry(directory: level.path, name: name)
            }
        }
        return nil
    }

    /// - Returns: whether it is a folder that can be read; any other is skipped.
    @discardableResult
    private func enter(_ path: String) -> Bool {
        guard levels.count < Self.depthMax else { return false }
        let descriptor = clinux_open_beneath(root, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0)
        guard descriptor >= 0 else { return false }
        guard let stream = fdopendir(descriptor) else {
            close(descriptor)
            return false
        }
        levels.append(Level(path: path, stream: stream))
        return true
    }
}

extension Container {
    /// Starts a walk beneath `folder`, a path relative to the directory of all tenants.
    package func walk(_ folder: String) throws(StorageError) -> ContainerWalk {
        try ContainerWalk(root: root, path: folder)
    }

    /// Returns the total size of the files beneath `folder`; files removed meanwhile count as zero.
    package func bytes(beneath folder: String) throws(StorageError) -> Int64 {
        let walk = try walk(folder)
        var bytes: Int64 = 0
        while let entry = walk.next() {
            if let status = status(of: entry) { bytes += Int64(status.st_size) }
        }
        return bytes
    }

    /// Returns the names in the directory of all tenants.
    package func folders() throws(StorageError) -> [String] {
        let descriptor = clinux_open_beneath(root, ".", O_RDONLY | O_DIRECTORY, 0)
        guard descriptor >= 0, let stream = fdopendir(descriptor) else {
            throw StorageError(operation: "opendir", errno: errno)
        }
        defer { closedir(stream) }
        var names: [String] = []
        while let item = readdir(stream) {
            let name = withUnsafePointer(to: &item.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) {
                    String(validatingCString: $0)
                }
            }
            if let name, name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    /// Returns how long ago a file was written, by this machine's clock.
    ///
    /// It is nil when the entry is not a file, is gone, or cannot be opened: an entry that is not a
    /// plain file of this service was planted.
    package func age(of entry: ContainerWalk.Entry) -> Duration? {
        guard let status = status(of: entry) else { return nil }
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return .seconds(now.tv_sec - status.st_mtim.tv_sec)
    }

    /// Returns the status; nil when the entry is not a file, is gone, or cannot be opened.
    private func status(of entry: ContainerWalk.Entry) -> stat? {
        let path = "\(entry.directory)/\(entry.name)"
        let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK
        let descriptor = clinux_open_beneath(root, path, flags, 0)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            return nil
        }
        return status
    }
}
