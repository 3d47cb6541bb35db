import Glibc

/// The removal of a folder of a container with everything in it: whatever the names are, however
/// deep it goes, and without following links.
///
/// Every call blocks; the removal belongs to its creator.
struct FolderRemoval: ~Copyable {
    /// The maximum number of directories that are open at once.
    private static let openMax = 64

    private struct Level {
        /// The name in the level above, with a NUL; of the first one the path beneath the root.
        let name: [CChar]
        /// The directory; nil when it was closed because there were too many below.
        var stream: OpaquePointer?
    }

    private let root: Int32
    private let path: String
    private var levels: [Level] = []
    private var removedCount = 0

    /// Prepares the removal of `path` beneath `root`, which stays the caller's.
    init(of path: String, root: Int32) {
        self.root = root
        self.path = path
    }

    deinit { for level in levels { if let stream = level.stream { closedir(stream) } } }

    /// Removes up to `max` files and folders; what is gone already is no error.
    ///
    /// - Returns: whether nothing is left.
    mutating func removeSome(max: Int) throws(StorageError) -> Bool {
        do throws(StorageError) {
            try enter(Array(path.utf8CString), in: root)
        } catch  where error.errno == ENOENT {
            return true
        }
        while removedCount < max {
            guard let stream = try current() else { return true }
            guard let item = readdir(stream) else {
                guard try leave() else { return false }
                continue
            }
            guard let name = DirectoryStream.name(of: item) else { continue }
            let isFolder = [Int(DT_DIR), Int(DT_UNKNOWN)].contains(Int(item.pointee.d_type))
            if isFolder, try entered(name, in: dirfd(stream)) { continue }
            try remove(name, in: dirfd(stream), flags: 0)
        }
        return false
    }

    /// - Returns: whether it is a folder, whose entries come next.
    private mutating func entered(
        _ name: [CChar],
        in directory: Int32
    ) throws(StorageError) -> Bool {
        do throws(StorageError) {
            try enter(name, in: directory)
            return true
        } catch  where error.leadsNowhere {
            // It is no folder, or is gone.
            return false
        }
    }

    private mutating func enter(_ name: [CChar], in directory: Int32) throws(StorageError) {
        levels.append(Level(name: name, stream: try DirectoryStream.open(name, in: directory)))
        let tooDeep = levels.count - Self.openMax - 1
        guard tooDeep >= 0, let stream = levels[tooDeep].stream else { return }
        closedir(stream)
        levels[tooDeep].stream = nil
    }

    /// Returns the last directory; nil when there is none left.
    private mutating func current() throws(StorageError) -> OpaquePointer? {
        if let last = levels.last, last.stream == nil { try openAgain() }
        return levels.last?.stream
    }

    /// Opens the last directories again from the top; all are closed.
    private mutating func openAgain() throws(StorageError) {
        let firstKept = max(0, levels.count - Self.openMax)
        var above: OpaquePointer?
        for index in levels.indices {
            let previous = above
            // Closed unless it is kept.
            defer { if index <= firstKept, let previous { closedir(previous) } }
            let directory = previous.map { dirfd($0) } ?? root
            let next = try DirectoryStream.open(levels[index].name, in: directory)
            if index >= firstKept { levels[index].stream = next }
            above = next
        }
    }

    /// Removes the last directory, all of whose entries are gone.
    ///
    /// - Returns: whether that is so; else others have added some, or the file system has not
    ///   listed all of them while some were removed.
    private mutating func leave() throws(StorageError) -> Bool {
        guard let level = levels.popLast() else { return true }
        if let stream = level.stream { closedir(stream) }
        let parent = try current()
        do throws(StorageError) {
            try remove(level.name, in: parent.map { dirfd($0) } ?? root, flags: AT_REMOVEDIR)
            return true
        } catch  where [ENOTEMPTY, EEXIST].contains(error.errno) && removedCount > 0 {
            return false
        }
    }

    private mutating func remove(
        _ name: [CChar],
        in directory: Int32,
        flags: Int32
    ) throws(StorageError) {
        guard unlinkat(directory, name, flags) == 0 || errno == ENOENT else {
            throw StorageError(operation: "unlinkat", errno: errno)
        }
        removedCount += 1
    }
}
