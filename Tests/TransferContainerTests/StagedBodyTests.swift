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
