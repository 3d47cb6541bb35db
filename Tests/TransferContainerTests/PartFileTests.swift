import Foundation
import Glibc
import Testing
import TransferModel
import TransferTestSupport

@testable import TransferContainer

/// The space that the file of several connections reserves.
@Suite struct PartFileTests {
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
