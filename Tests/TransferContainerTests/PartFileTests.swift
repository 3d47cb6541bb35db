import Foundation
import Glibc
import Testing
import TransferModel
import TransferTestSupport

@testable import TransferContainer

/// The file of several connections: what of it counts after its writer was killed, and the space
/// that it reserves.
@Suite struct PartFileTests {
    /// The file of a writer that has received 700 bytes, of which 600 were stored, and is gone.
    private struct Remains {
        private let folder: TestFolder
        let container: Container
        let place = Container.Place("part", tenant: TenantID(UUID()))

        init(isMarked: Bool) throws {
            folder = try TestFolder("part")
            container = try Container(directory: folder.path)
            try container.prepareDirectory(of: place)
            let part = try PartFile(place, fence: Fence(rawValue: 1), in: container)
            let bytes = [UInt8](repeating: 1, count: 700)
            try bytes.withUnsafeBytes { try part.write($0) }
            if isMarked { #expect(try part.beginSegments(total: 1000)) }
        }

        func opened(bootID: UUID = Boot.id, bytesDurable: Int64 = 0) throws -> PartFile {
            let partial = PartialDownload(
                partFence: Fence(rawValue: 1),
                ranges: ByteRangeSet(0..<600),
                bootID: bootID,
                bytesDurable: bytesDurable,
                bytesTotal: 1000,
                validator: EntityValidator(stored: #""v1""#)
            )
            return try #require(try PartFile(goingOnWith: partial, at: place, in: container))
        }
    }

    @Test(arguments: [(false, 700), (true, 600)] as [(Bool, Int64)])
    func whatWasStoredCountsFromTheMarkOn(isMarked: Bool, usable: Int64) throws {
        let part = try Remains(isMarked: isMarked).opened()
        #expect(part.written == ByteRangeSet(0..<usable))
        #expect(part.isSegmented == isMarked)
    }

    /// Whoever opens it after that, in the same boot, believes its size.
    @Test func withoutTheMarkNothingStaysBehindWhatCounts() throws {
        let remains = try Remains(isMarked: false)
        let part = try remains.opened(bootID: UUID(), bytesDurable: 300)
        #expect(part.written == ByteRangeSet(0..<300))
        #expect(try remains.container.size(of: remains.place) == 300)
    }

    /// ext4 keeps what it has got of a space that is not all there, unlike tmpfs.
    @Test(.enabled("mounting a file system needs root") { geteuid() == 0 })
    func whatDoesNotFitTakesNoSpace() async throws {
        let disk = try await Ext4Disk.forTest(size: 24 << 20)
        defer { withExtendedLifetime(disk) {} }
        let container = try Container(directory: "\(disk.path)/containers")
        let place = Container.Place("part", tenant: TenantID(UUID()))
        try container.prepareDirectory(of: place)
        let part = try PartFile(place, fence: Fence(rawValue: 1), in: container)
        let bytes = [UInt8](repeating: 1, count: 100_000)
        try bytes.withUnsafeBytes { try part.write($0) }
        try part.sync()
        let free = try container.space().free
        #expect(free > 10 << 20)
        #expect(throws: StorageError(operation: "fallocate", errno: ENOSPC)) {
            _ = try part.beginSegments(total: 2 * free)
        }
        // The tables of the file may have grown by a block.
        #expect(try container.space().free > free - 100_000)
        #expect(part.bytesWritten == 100_000)
    }
}
