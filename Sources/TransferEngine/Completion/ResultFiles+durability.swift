import Glibc
import TransferContainer
import TransferModel

/// What makes results durable.
extension ResultFiles {
    /// The number of files, packs and directories up to which each is made durable by itself rather
    /// than with its whole file system.
    private static let singleSyncMax = 4

    /// Makes new files and packs durable, and the names of files that have received theirs.
    ///
    /// A file that stays where it is must still have its name; a file with a destination that has
    /// lost it is missed when it gets the other.
    ///
    /// - Returns: the errors by task, and the error of the names.
    func makeDurable(
        _ parts: [(part: Part, pendingRename: PendingRename)],
        _ renamed: [PendingRename]
    ) -> (errors: [TaskID: StorageError], undurable: StorageError?) {
        // Results in one pack become durable together.
        let packs = packs(of: parts)
        let fileCount = packs.count + parts.count { $0.part.file != nil }
        // Collected only where there are so few files that each is made durable by itself.
        let directories = fileCount > Self.singleSyncMax ? [] : homes(parts, renamed, packs)
        var errors: [TaskID: StorageError] = [:]
        var undurable: StorageError?
        if fileCount + directories.count > Self.singleSyncMax {
            do throws(StorageError) {
                try container.syncAll()
            } catch {
                // The error may concern any of them, so none can be trusted.
                for part in parts { errors[part.pendingRename.task] = error }
                self.packs.distrust(error)
                undurable = error
            }
        } else {
            for (part, pendingRename) in parts {
                do throws(StorageError) {
                    try part.file?.sync()
                } catch {
                    errors[pendingRename.task] = error
                }
            }
            for pack in packs { pack.sync() }
            undurable = syncNames(directories)
            if let undurable {
                for pack in packs where pack.newDirectory != nil { pack.distrust(undurable) }
            }
        }
        let lost = undurablePacks(packs)
        for (part, pendingRename) in parts where errors[pendingRename.task] == nil {
            if let pack = part.pack {
                errors[pendingRename.task] = lost[ObjectIdentifier(pack)]
            } else {
                let isStaying = pendingRename.destination == nil
                errors[pendingRename.task] = part.file.flatMap { settle($0, isStaying: isStaying) }
            }
        }
        return (errors, undurable)
    }

    /// Removes the mark of a durable file, and checks that one that stays where it is still has its
    /// name.
    private func settle(_ file: PartFile, isStaying: Bool) -> StorageError? {
        do throws(StorageError) {
            try file.endSegments()
            if isStaying { try file.requireName() }
            return nil
        } catch {
            return error
        }
    }

    private func undurablePacks(_ packs: [Pack]) -> [ObjectIdentifier: StorageError] {
        var errors: [ObjectIdentifier: StorageError] = [:]
        for pack in packs {
            do throws(StorageError) {
                try pack.requireDurable()
            } catch {
                errors[ObjectIdentifier(pack)] = error
            }
        }
        return errors
    }

    private func packs(of parts: [(part: Part, pendingRename: PendingRename)]) -> [Pack] {
        var packs: [ObjectIdentifier: Pack] = [:]
        for pack in parts.compactMap(\.part.pack) { packs[ObjectIdentifier(pack)] = pack }
        return Array(packs.values)
    }

    /// The directories in which files have received their final name.
    private func homes(
        _ parts: [(part: Part, pendingRename: PendingRename)],
        _ renamed: [PendingRename],
        _ packs: [Pack]
    ) -> Set<String> {
        let staying = parts.filter { $0.pendingRename.destination == nil }
        return Set(renamed.map { Container.Place(partOf: $0).directory })
            .union(staying.compactMap(\.part.file?.place.directory))
            .union(packs.compactMap(\.newDirectory))
    }

    private func syncNames(_ directories: Set<String>) -> StorageError? {
        do throws(StorageError) {
            do throws(StorageError) {
                for directory in directories { try container.syncDirectory(directory) }
            } catch  where [EMFILE, ENFILE].contains(error.errno) {
                // This needs no descriptor.
                try container.syncAll()
            }
            return nil
        } catch {
            return error
        }
    }
}
