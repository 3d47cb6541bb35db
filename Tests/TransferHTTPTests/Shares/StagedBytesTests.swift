import Foundation
import Glibc
import Testing
import TransferContainer
import TransferModel
import TransferTestSupport

@testable import TransferHTTP

/// The counts of the bytes that tenants have brought.
@Suite struct StagedBytesTests {
    /// A tenant beyond the maximum is counted each time.
    @Test(.enabled("mounting a file system needs root") { geteuid() == 0 })
    func onlySoManyCountsAreKept() throws {
        let folder = try TmpfsFolder("counts", "size=1m")
        // Only on a disk that is three quarters full are bytes counted.
        try Data(count: 800 << 10).write(to: URL(filePath: "\(folder.path)/other"))
        let container = try Container(directory: folder.path)
        let staged = StagedBytes(in: container, countsMax: 1, age: .seconds(3600))
        let task = TaskID(UUID())
        let (kept, counted) = (TenantID(UUID()), TenantID(UUID()))
        func obstacle(of tenant: TenantID) throws -> StagedBytes.Obstacle? {
            let body = try StagedBody(of: task, tenant: tenant, in: container)
            return try staged.obstacle(to: 1, in: body, of: tenant)
        }
        for tenant in [kept, counted] {
            #expect(try obstacle(of: tenant) == nil)
            // A file of holes, which takes no space, and of which nobody tells.
            let file = "\(folder.path)/\(StagedBody.place(of: task, tenant: tenant).path)-other"
            #expect(FileManager.default.createFile(atPath: file, contents: nil))
            #expect(truncate(file, 10 << 20) == 0)
        }
        #expect(try obstacle(of: kept) == nil)
        #expect(try obstacle(of: counted) == .tenantsPart)
    }
}
