import Foundation
import Glibc
import Testing
import TransferModel
import TransferTestSupport

@testable import TransferContainer

/// The space that a database on the same disk keeps.
@Suite struct SpaceLeftTests {
    @Test(.enabled("mounting a file system needs root") { geteuid() == 0 })
    func noTransferTakesTheSpaceOfTheDatabase() throws {
        let folder = try TmpfsFolder("space", "size=80m")
        let container = try Container(
            directory: "\(folder.path)/containers",
            besideDatabaseIn: folder.path
        )
        let left: Int64 = 48 << 20
        #expect(container.spaceLeft == left)
        #expect(container.isSmall)
        let tenant = TenantID(UUID())
        let place = Container.Place("part", tenant: tenant)
        try container.prepareDirectory(of: place)
        let part = try PartFile(place, fence: Fence(rawValue: 1), in: container)
        let free = try container.space().free
        #expect(throws: StorageError(operation: "fallocate", errno: ENOSPC)) {
            _ = try part.beginSegments(total: free - left / 2)
        }
        #expect(container.isOver(.storageFull))

        let bytes = [UInt8](repeating: 1, count: 64 << 10)
        #expect(throws: StorageError(operation: "statvfs", errno: ENOSPC)) {
            while true { try bytes.withUnsafeBytes { try part.write($0) } }
        }
        // Noticed before much of the database's space is gone.
        #expect(try container.space().free > left - left / 8)
        #expect(!container.isOver(.storageFull))
        #expect(throws: StorageError(operation: "statvfs", errno: ENOSPC)) {
            let other = Container.Place("other", tenant: tenant)
            _ = try PartFile(other, fence: Fence(rawValue: 2), in: container)
        }
        // The database may take new work until half of its space is gone.
        #expect(container.hasSpaceForNewWork)
        let taken = open("\(folder.path)/database", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        let surplus = try container.space().free - left / 2
        #expect(posix_fallocate(taken, 0, off_t(surplus + 65536)) == 0)
        #expect(!container.hasSpaceForNewWork)
        #expect(ftruncate(taken, 0) == 0)
        close(taken)
        #expect(container.hasSpaceForNewWork)
        try part.clear()
        #expect(part.bytesWritten == 0)
        #expect(container.isOver(.storageFull))
    }

    /// A tmpfs may have no bound.
    @Test(.enabled("mounting a file system needs root") { geteuid() == 0 })
    func aFileSystemWithoutASizeIsNotFull() throws {
        let folder = try TmpfsFolder("space", "size=0")
        let container = try Container(
            directory: "\(folder.path)/containers",
            besideDatabaseIn: folder.path
        )
        #expect(try container.space() == FileSystemSpace(free: .max, total: .max))
        #expect(container.isOver(.storageFull))
        #expect(container.hasSpaceForNewWork)
        let place = Container.Place("part", tenant: TenantID(UUID()))
        try container.prepareDirectory(of: place)
        let part = try PartFile(place, fence: Fence(rawValue: 1), in: container)
        #expect(try part.beginSegments(total: 1 << 20))
    }

    @Test func withoutADatabaseOnTheDiskNothingIsLeft() throws {
        let folder = try TestFolder("space")
        let container = try Container(directory: folder.path, besideDatabaseIn: "/proc")
        #expect(container.spaceLeft == 0)
        #expect(container.hasSpaceForNewWork)
        #expect(container.isOver(.storageFull))
    }

    /// Whoever looks for the files finds others, or none, until the service opens it again.
    @Test func aDirectoryThatWasReplacedIsAFailure() throws {
        let folder = try TestFolder("replaced")
        let path = "\(folder.path)/containers"
        let container = try Container(directory: path)
        #expect(container.isInPlace)
        #expect(rename(path, "\(path)-1") == 0)
        #expect(!container.isInPlace)
        #expect(!container.isOver(.storageFailure))
        #expect(mkdir(path, 0o750) == 0)
        #expect(!container.isInPlace)
        #expect(rename("\(path)-1", path) == 0)
        #expect(container.isInPlace)
        #expect(container.isOver(.storageFailure))
    }
}
