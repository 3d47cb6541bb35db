import Glibc

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
            guard let name = DirectoryStream.text(of: item) else { continue }
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
        guard levels.count < Self.depthMax,
            let stream = try? DirectoryStream.open(path, in: root)
        else { return false }
        levels.append(Level(path: path, stream: stream))
        return true
    }
}
