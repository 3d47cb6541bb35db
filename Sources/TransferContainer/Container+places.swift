import CLinux
import Glibc
import Synchronization
package import TransferModel

/// The directories that files are placed in.
extension Container {
    /// The number of paths remembered as durable; beyond it, all are checked again.
    static let durableDirectoriesMax = 16_384

    /// Returns whether the directory of a file existed and was durable when it was last needed.
    ///
    /// This costs no system call.
    package func hasDirectory(of place: Place) -> Bool {
        durableDirectories.withLock { $0.contains(place.directory) }
    }

    /// Creates the directories above a file as needed, each durable in its parent, and for a result
    /// without a destination also the one of packs.
    ///
    /// Waits for the disk once for each new directory, and so belongs on a thread that may block
    /// for long.
    package func prepareDirectory(of place: Place) throws(StorageError) {
        if let slot = place.packSlot { try createDirectories(slot.pack.directory) }
        try createDirectories(place.directory)
    }

    /// Records that the directory of a file is gone.
    func forgetDirectory(of place: Place) {
        durableDirectories.withLock { _ = $0.remove(place.directory) }
    }

    /// Returns whether a directory is known to be durable in its parent.
    func isDurable(_ path: String, isNew: Bool) -> Bool {
        durableDirectories.withLock { known in
            // What was known was another directory of that name.
            if isNew { known.remove(path) }
            return known.contains(path)
        }
    }

    /// Records that a directory exists and is durable in its parent.
    func rememberDirectory(_ path: String) {
        durableDirectories.withLock { known in
            if known.count >= Self.durableDirectoriesMax { known = [] }
            known.insert(path)
        }
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
            guard let status = status(of: entry) else { continue }
            // Sparse files may have any size.
            let (sum, isOver) = bytes.addingReportingOverflow(Int64(status.st_size))
            bytes = isOver ? .max : sum
        }
        return bytes
    }

    /// Returns the names in the directory of all tenants.
    package func folders() throws(StorageError) -> [String] {
        let stream = try DirectoryStream.open(".", in: root)
        defer { closedir(stream) }
        var names: [String] = []
        while let item = readdir(stream) {
            if let name = DirectoryStream.text(of: item) { names.append(name) }
        }
        return names
    }

    /// Removes some of what is in a folder of a tenant, whatever it is, and the folder after the
    /// last; a folder that is not there is no error.
    ///
    /// - Returns: whether nothing is left.
    package func removeSome(of folder: String, max: Int) throws(StorageError) -> Bool {
        var removal = FolderRemoval(of: folder, root: root)
        return try removal.removeSome(max: max)
    }

    /// Returns how long ago a file was written, by this machine's clock.
    ///
    /// It is nil when the entry is not a file, is gone, or cannot be opened: an entry that is not a
    /// plain file of this service was planted.
    package func age(of entry: ContainerWalk.Entry) -> Duration? {
        guard let status = status(of: entry) else { return nil }
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        // A disk may tell any time, even one for which the difference is no number.
        let (seconds, isOver) = now.tv_sec.subtractingReportingOverflow(status.st_mtim.tv_sec)
        return .seconds(isOver ? .max : seconds)
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

extension AbandonedPart {
    /// The places at which the file may be.
    package var places: [Container.Place] {
        let own = ResultLocation.partPath(of: task, destination: destination, fence: fence)
        return [own, sourcePath].compactMap(\.self).map { Container.Place($0, tenant: tenant) }
    }
}

/// Results that lie in packs: each is found by the place that a file of its own would have.
extension Container {
    /// A result in a pack.
    struct Packed {
        let pack: PackFile
        let index: Int
        let entry: PackEntry
    }

    /// Returns the result in a pack that belongs to a place, to be read or also removed; nil when
    /// there is none.
    func packed(_ place: Place, isWritable: Bool = false) throws(StorageError) -> Packed? {
        do throws(StorageError) {
            guard let slot = place.packSlot,
                let pack = try PackFile(slot.pack, in: self, isWritable: isWritable),
                let entry = try pack.entry(at: slot.index), entry.task == slot.task
            else { return nil }
            return Packed(pack: pack, index: slot.index, entry: entry)
        } catch  where error.leadsNowhere || [EISDIR, ESPIPE].contains(error.errno) {
            // Something else was planted there.
            return nil
        }
    }

    /// Creates an empty pack, in a directory that exists; returns nil when there is one.
    func createPack(at place: Place) throws(StorageError) -> Int32? {
        let flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW
        let descriptor = clinux_open_beneath(root, place.path, flags, 0o640)
        guard descriptor < 0 else { return try notedNew(descriptor, at: place) }
        guard errno == EEXIST else { throw StorageError(operation: "openat2", errno: errno) }
        return nil
    }

    /// Returns the attempts whose results a pack has; nil when there is no pack, and also when it
    /// is empty and its writer may still add to it.
    package func attempts(
        inPackAt place: Place
    ) throws(StorageError) -> [(task: TaskID, fence: Fence)]? {
        // Some network file systems lock only what is open for writing (flock(2)).
        guard let first = place.firstFence,
            let pack = try PackFile(place, in: self, isWritable: true)
        else { return nil }
        let entries = try pack.entries()
        if entries.isEmpty {
            guard try pack.isAbandoned() else { return nil }
        }
        return entries.map { index, entry in
            (entry.task, Fence(rawValue: first.rawValue + Int64(index)))
        }
    }
}

extension Container.Place {
    /// The place of a result in a pack: the pack, and the number of its entry.
    struct PackSlot {
        let pack: Container.Place
        let index: Int
        let task: TaskID
    }

    /// Where in a pack the result would be for which this is the place of a file of its own; nil
    /// for the place of anything else.
    var packSlot: PackSlot? {
        guard let attempt = ResultLocation.attempt(ofPart: pathOfTenant) else { return nil }
        return PackSlot(
            pack: sibling(ResultLocation.packPath(of: attempt.fence)),
            index: attempt.fence.indexInPack,
            task: attempt.task
        )
    }

    /// Whether this is the place of a pack.
    package var isPack: Bool { firstFence != nil }

    /// The first fence of the pack whose place this is.
    fileprivate var firstFence: Fence? { ResultLocation.firstFence(ofPack: pathOfTenant) }
}
