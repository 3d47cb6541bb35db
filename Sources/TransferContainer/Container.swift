import CLinux
import Glibc
import Synchronization
package import TransferModel

/// The directory that holds the results of all tenants, opened once.
///
/// The kernel resolves every path beneath it, without symbolic links, so that no name and no
/// planted link leads outside. All calls block and belong on a thread that may block.
package final class Container: Sendable {
    let root: Int32
    /// The file systems on which there are files.
    let fileSystems: FileSystems
    /// The path of the directory.
    let directory: String
    /// The space that is left to a database on the same disk, in bytes; 0 without one.
    let spaceLeft: Int64
    /// The bytes written since the last look at the space.
    let bytesUnseen = Atomic<Int64>(0)
    let durableDirectories = Mutex<Set<String>>([])

    /// Opens `directory`, and creates it when its parent exists.
    ///
    /// - Parameters:
    ///   - directory: the directory.
    ///   - database: the directory of the database that has the rest of the disk, if it is on the
    ///     same; nil for none.
    /// - Throws: ``StorageError``
    package init(directory: String, besideDatabaseIn database: String? = nil) throws {
        self.directory = directory
        if mkdir(directory, 0o750) != 0, errno != EEXIST {
            throw StorageError(operation: "mkdir \(directory)", errno: errno)
        }
        let root = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard root >= 0 else { throw StorageError(operation: "open \(directory)", errno: errno) }
        self.root = root
        fileSystems = FileSystems(root: root)
        spaceLeft = Self.spaceLeft(on: root, toDatabaseIn: database)
    }

    deinit { close(root) }

    /// The location of a task's file: a directory beneath the root, and a name in it.
    package struct Place: Sendable {
        /// The path of the file, relative to the root.
        package let path: String

        /// Creates a place from a path beneath the directory of `tenant`.
        package init(_ path: String, tenant: TenantID) { self.path = "\(tenant)/\(path)" }

        /// Returns the place of another path beneath the directory of the same tenant.
        func sibling(_ path: String) -> Place {
            Place(path: String(decoding: self.path.utf8[..<tenantEnd], as: UTF8.self) + "/" + path)
        }

        private init(path: String) { self.path = path }

        /// The path of the file, relative to the directory of its tenant.
        var pathOfTenant: String {
            String(decoding: path.utf8[tenantEnd...].dropFirst(), as: UTF8.self)
        }

        private var tenantEnd: String.Index {
            path.utf8.firstIndex(of: UInt8(ascii: "/")) ?? path.startIndex
        }

        /// The path of the directory, relative to the root.
        package var directory: String {
            String(decoding: path.utf8[..<lastSlash], as: UTF8.self)
        }

        /// The name of the file in its directory.
        package var name: String {
            String(decoding: path.utf8[lastSlash...].dropFirst(), as: UTF8.self)
        }

        // Searches bytes, as the kernel does: a mark that combines with a slash would hide it.
        private var lastSlash: String.Index {
            path.utf8.lastIndex(of: UInt8(ascii: "/")) ?? path.startIndex
        }
    }

    /// Creates an empty part file in a directory that ``prepareDirectory(of:)`` has prepared.
    ///
    /// Without that directory it fails, and the next attempt creates it again: no thread that runs
    /// many transfers waits here for a new directory to reach the disk.
    func createPart(at place: Place) throws(StorageError) -> Int32 {
        let flags = O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW
        let descriptor = clinux_open_beneath(root, place.path, flags, 0o640)
        guard descriptor >= 0 else {
            let code = errno
            if code == ENOENT { forgetDirectory(of: place) }
            throw StorageError(operation: "openat2", errno: code)
        }
        return try notedNew(descriptor, at: place)
    }

    /// Opens an existing part file to continue it; returns nil when there is none.
    func openPart(at place: Place) throws(StorageError) -> Int32? {
        // Without blocking, in case a pipe has been planted there.
        let flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK
        let descriptor = clinux_open_beneath(root, place.path, flags, 0)
        guard descriptor < 0 else { return try noted(descriptor, at: place) }
        guard errno == ENOENT else { throw StorageError(operation: "openat2", errno: errno) }
        return nil
    }

    /// Returns the descriptor of a file that is written, whose file system is flushed from now on.
    func noted(_ descriptor: Int32, at place: Place) throws(StorageError) -> Int32 {
        do throws(StorageError) {
            try fileSystems.note(descriptor, in: place.directory)
            return descriptor
        } catch {
            close(descriptor)
            throw error
        }
    }

    /// Returns the descriptor of a file that was just made, as ``noted(_:at:)`` does; when that
    /// throws, the file is removed, for nobody would look for it.
    func notedNew(_ descriptor: Int32, at place: Place) throws(StorageError) -> Int32 {
        do throws(StorageError) {
            return try noted(descriptor, at: place)
        } catch {
            // What cannot be removed either is found by the sweeps.
            _ = try? unlink(place)
            throw error
        }
    }

    /// Opens a file for reading; returns nil when there is none.
    func openSource(at place: Place) throws(StorageError) -> Int32? {
        // Without blocking, in case it is a pipe.
        let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK
        let descriptor = clinux_open_beneath(root, place.path, flags, 0)
        guard descriptor < 0 else { return descriptor }
        guard errno == ENOENT else { throw StorageError(operation: "openat2", errno: errno) }
        return nil
    }

    /// Returns the size of a plain file, or of a result in a pack; nil when there is none at that
    /// place.
    package func size(of place: Place) throws(StorageError) -> Int64? {
        if let size = try sizeOfFile(at: place) { return size }
        return try packed(place).map { Int64($0.entry.length) }
    }

    private func sizeOfFile(at place: Place) throws(StorageError) -> Int64? {
        do throws(StorageError) {
            return try withDirectory(place.directory) { directory throws(StorageError) in
                var status = stat()
                guard fstatat(directory, place.name, &status, AT_SYMLINK_NOFOLLOW) == 0 else {
                    guard errno == ENOENT else {
                        throw StorageError(operation: "fstatat", errno: errno)
                    }
                    return nil
                }
                return status.st_mode & S_IFMT == S_IFREG ? Int64(status.st_size) : nil
            }
        } catch  where error.leadsNowhere {
            return nil
        }
    }

    /// Opens or creates a file that is written bit by bit, and the directories above it as needed.
    func openToAppend(at place: Place) throws(StorageError) -> Int32 {
        let flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK
        var descriptor = clinux_open_beneath(root, place.path, flags, 0o640)
        if descriptor < 0, errno == ENOENT {
            try createDirectories(place.directory)
            descriptor = clinux_open_beneath(root, place.path, flags, 0o640)
        }
        guard descriptor >= 0 else { throw StorageError(operation: "openat2", errno: errno) }
        return descriptor
    }

    /// Moves a part file of another task to the task that continues it.
    ///
    /// A part file that was already moved, or does not exist, is no error.
    package func adoptPart(from source: Place, to place: Place) throws(StorageError) {
        try createDirectories(place.directory)
        do throws(StorageError) {
            try withDirectory(source.directory) { from throws(StorageError) in
                try withDirectory(place.directory) { to throws(StorageError) in
                    let code = clinux_rename_noreplace(from, source.name, to, place.name)
                    guard code == 0 || errno == ENOENT || errno == EEXIST else {
                        throw StorageError(operation: "renameat2", errno: errno)
                    }
                }
            }
        } catch  where error.errno == ENOENT {
            return
        }
    }

    /// Removes a part file that will not be renamed, a result, or a pack without results; one
    /// that is already gone is no error.
    package func removePart(at place: Place) throws(StorageError) {
        if place.isPack {
            try PackFile(place, in: self, isWritable: true)?.removeIfEmpty()
        } else if try !unlink(place), let packed = try packed(place, isWritable: true) {
            try packed.pack.remove(packed.entry.task, at: packed.index)
        }
    }

    /// Removes a file.
    ///
    /// - Returns: whether it was there.
    @discardableResult
    func unlink(_ place: Place) throws(StorageError) -> Bool {
        do throws(StorageError) {
            try withDirectory(place.directory) { directory throws(StorageError) in
                guard unlinkat(directory, place.name, 0) == 0 else {
                    throw StorageError(operation: "unlinkat", errno: errno)
                }
            }
            return true
        } catch  where error.leadsNowhere {
            return false
        }
    }

    /// The outcome of a rename.
    package enum Renaming {
        /// The part has its final name, given by this call or an earlier one.
        case done
        /// There is neither a part nor a file that it could have become.
        case partLost
    }

    /// Gives a durable part file its final name, in one step that no reader sees half done.
    ///
    /// A repeated call recognises its own result by `identity`, which the part had: a file of the
    /// same name and size may be another task's.
    package func rename(
        _ part: Place,
        to name: String,
        overwrite: Bool,
        identity: FileIdentity,
        bytes: Int64
    ) throws(StorageError) -> Renaming {
        do throws(StorageError) {
            return try withDirectory(part.directory) { directory throws(StorageError) in
                try fileSystems.note(directory, in: part.directory)
                return try rename(part.name, name, overwrite, identity, bytes, in: directory)
            }
        } catch  where error.errno == ENOENT {
            // Somebody has removed the folder with everything in it.
            return .partLost
        }
    }

    private func rename(
        _ part: String,
        _ name: String,
        _ overwrite: Bool,
        _ identity: FileIdentity,
        _ bytes: Int64,
        in directory: Int32
    ) throws(StorageError) -> Renaming {
        let code =
            overwrite
            ? renameat(directory, part, directory, name)
            : clinux_rename_noreplace(directory, part, directory, name)
        guard code != 0 else { return .done }
        let error = StorageError(operation: "renameat2", errno: errno)
        guard [ENOENT, EEXIST].contains(error.errno) else { throw error }
        var found = clinux_identity()
        if clinux_identify(directory, name, &found) == 0, FileIdentity(found) == identity,
            found.size == bytes
        {
            return .done
        }
        guard error.errno == ENOENT else { throw error }
        return .partLost
    }

    /// Makes a directory's names durable: a file's own fsync(2) does not cover its name.
    package func syncDirectory(_ path: String) throws(StorageError) {
        try withDirectory(path) { directory throws(StorageError) in
            guard fsync(directory) == 0 else {
                throw StorageError(operation: "fsync", errno: errno)
            }
        }
    }

    /// Writes all of `bytes` to an open file from `offset` on, and tells of each piece once it is
    /// written.
    func writeAll(
        _ bytes: UnsafeRawBufferPointer,
        to descriptor: Int32,
        at offset: Int64,
        onWritten: (Range<Int64>) throws(StorageError) -> Void
    ) throws(StorageError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let piece = UnsafeRawBufferPointer(rebasing: rest)
            let start = offset + Int64(bytes.count - rest.count)
            let count = pwrite(descriptor, piece.baseAddress, piece.count, off_t(start))
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                throw StorageError(operation: "pwrite", errno: count == 0 ? EIO : errno)
            }
            rest = rest.dropFirst(count)
            try onWritten(start..<start + Int64(count))
        }
    }

    /// Makes everything written to the container durable, also to file systems that are mounted
    /// beneath it.
    package func syncAll() throws(StorageError) { try fileSystems.sync() }

    func withDirectory<Result>(
        _ path: String,
        _ body: (Int32) throws(StorageError) -> Result
    ) throws(StorageError) -> Result {
        let directory = clinux_open_beneath(root, path, O_RDONLY | O_DIRECTORY, 0)
        guard directory >= 0 else { throw StorageError(operation: "openat2", errno: errno) }
        defer { close(directory) }
        return try body(directory)
    }

    /// Creates `path` from the top, one component at a time, each made durable in its parent.
    ///
    /// A file is not durable in a directory that is not durable. A directory that exists already
    /// counts as durable only once this process has made it so: who created it may have failed, or
    /// been stopped, before that.
    func createDirectories(_ path: String) throws(StorageError) {
        var parent = fcntl(root, F_DUPFD_CLOEXEC, 0)
        guard parent >= 0 else { throw StorageError(operation: "dup", errno: errno) }
        defer { close(parent) }
        var pathOfChild = ""
        for component in path.utf8.split(separator: UInt8(ascii: "/")) {
            let name = String(decoding: component, as: UTF8.self)
            pathOfChild += pathOfChild.isEmpty ? name : "/" + name
            let isNew = mkdirat(parent, name, 0o750) == 0
            guard isNew || errno == EEXIST else {
                throw StorageError(operation: "mkdirat", errno: errno)
            }
            let isKnown = isDurable(pathOfChild, isNew: isNew)
            guard isKnown || fsync(parent) == 0 else {
                throw StorageError(operation: "fsync", errno: errno)
            }
            let child = clinux_open_beneath(parent, name, O_RDONLY | O_DIRECTORY, 0)
            guard child >= 0 else { throw StorageError(operation: "openat2", errno: errno) }
            if !isKnown { rememberDirectory(pathOfChild) }
            close(parent)
            parent = child
        }
    }
}
