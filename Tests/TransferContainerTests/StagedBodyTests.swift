import Foundation
import Glibc
import Testing
import TransferModel
import TransferTestSupport

@testable import TransferContainer

/// The bytes of an upload that its client brings.
@Suite struct StagedBodyTests {
    /// The next flush would succeed without them.
    @Test func bytesThatCouldNotBeFlushedAreGone() throws {
        let folder = try TestFolder("bodies")
        let container = try Container(directory: folder.path)
        let (tenant, task) = (TenantID(UUID()), TaskID(UUID()))
        let place = StagedBody.place(of: task, tenant: tenant)
        do {
            let body = try StagedBody(of: task, tenant: tenant, in: container)
            let bytes = [UInt8](repeating: 1, count: 1000)
            try bytes.withUnsafeBytes { try body.append($0) }
            try body.sync()
            #expect(body.size == 1000)
            try UnflushableFile.make(at: "\(folder.path)/\(place.path)")
            #expect(throws: StorageError(operation: "fdatasync", errno: EINVAL)) {
                try body.sync()
            }
            #expect(body.size == 0)
        }
        #expect(try container.size(of: place) == nil)
        let next = try StagedBody(of: task, tenant: tenant, in: container)
        #expect(next.size == 0)
    }

    /// As after a power cut, or on another machine.
    @Test func inAnotherBootOnlyDurableBytesCount() throws {
        let folder = try TestFolder("bodies")
        let container = try Container(directory: folder.path)
        let (tenant, task, boot) = (TenantID(UUID()), TaskID(UUID()), UUID())
        func append(_ count: Int, in body: StagedBody) throws {
            try [UInt8](repeating: 1, count: count).withUnsafeBytes { try body.append($0) }
        }
        func size(inBoot bootID: UUID) throws -> Int64 {
            let told = try StagedBody.size(of: task, tenant: tenant, in: container, bootID: bootID)
            let body = try StagedBody(of: task, tenant: tenant, in: container, bootID: bootID)
            #expect(body.size == told)
            return body.size
        }
        do {
            let body = try StagedBody(of: task, tenant: tenant, in: container, bootID: boot)
            try append(1000, in: body)
            #expect(!body.isDurable)
            try body.sync()
            #expect(body.isDurable)
            try append(500, in: body)
        }
        #expect(try size(inBoot: boot) == 1500)
        #expect(try size(inBoot: UUID()) == 1000)
        // Opening alone has discarded nothing.
        #expect(try size(inBoot: boot) == 1500)
        do {
            let body = try StagedBody(of: task, tenant: tenant, in: container, bootID: boot)
            try body.clear()
            try append(1000, in: body)
        }
        #expect(try size(inBoot: boot) == 1000)
        #expect(try size(inBoot: UUID()) == 0)
    }

    /// They would be in the way of what comes next, or be sent with what is complete.
    @Test(arguments: [0, 100])
    func bytesThatDoNotCountAreDiscardedWithTheFirstChange(further: Int) throws {
        let folder = try TestFolder("bodies")
        let container = try Container(directory: folder.path)
        let (tenant, task) = (TenantID(UUID()), TaskID(UUID()))
        let place = StagedBody.place(of: task, tenant: tenant)
        func append(_ byte: UInt8, _ count: Int, in body: StagedBody) throws {
            try [UInt8](repeating: byte, count: count).withUnsafeBytes { try body.append($0) }
        }
        do {
            let body = try StagedBody(of: task, tenant: tenant, in: container, bootID: UUID())
            try append(1, 1000, in: body)
            try body.sync()
            try append(2, 500, in: body)
        }
        let body = try StagedBody(of: task, tenant: tenant, in: container)
        #expect(body.isDurable)
        #expect(body.size == 1000)
        #expect(try container.size(of: place) == 1500)
        if further > 0 { try append(3, further, in: body) } else { try body.sync() }
        #expect(try container.size(of: place) == Int64(1000 + further))
        let size = try StagedBody.size(of: task, tenant: tenant, in: container)
        #expect(size == Int64(1000 + further))
    }

    @Test func bytesOfWhichNothingIsKnownDoNotCount() throws {
        let folder = try TestFolder("bodies")
        let container = try Container(directory: folder.path)
        let (tenant, task) = (TenantID(UUID()), TaskID(UUID()))
        #expect(try StagedBody.size(of: task, tenant: tenant, in: container) == 0)
        let place = StagedBody.place(of: task, tenant: tenant)
        try folder.write("copied", to: place.path)
        #expect(try container.size(of: place) == 6)
        #expect(try StagedBody.size(of: task, tenant: tenant, in: container) == 0)
        let body = try StagedBody(of: task, tenant: tenant, in: container)
        #expect(body.size == 0)
        try [UInt8(1)].withUnsafeBytes { try body.append($0) }
        #expect(try container.size(of: place) == 1)
    }

    /// Its folder has been moved away, and the name of the file with it.
    @Test func bytesWhoseNameCannotBeFlushedAreNotDurable() throws {
        let folder = try TestFolder("bodies")
        let container = try Container(directory: folder.path)
        let (tenant, task) = (TenantID(UUID()), TaskID(UUID()))
        let body = try StagedBody(of: task, tenant: tenant, in: container)
        #expect(rename("\(folder.path)/\(tenant)", "\(folder.path)/moved") == 0)
        #expect(throws: StorageError(operation: "openat2", errno: ENOENT)) { try body.sync() }
    }
}
