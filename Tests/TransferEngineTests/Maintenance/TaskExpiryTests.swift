import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

@testable import TransferEngine

/// The removal of tasks that ended too long ago.
@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct TaskExpiryTests {
    private func isKept(_ id: TaskID, _ fixture: EngineFixture) async throws -> Bool {
        try await fixture.stores.tasks.task(tenant: fixture.tenant, id: id) != nil
    }

    /// Events go a week at a time: the last of them may be that much older than their retention.
    @Test func aTaskIsHeldAsLongAsItsEventsMayBeKept() async throws {
        let fixture = try await EngineFixture()
        let id = try await fixture.submit("http://localhost/")
        // Its generation does not end.
        _ = try await fixture.submit("http://localhost/") { $0.autostart = false }
        _ = try await fixture.stores.control.cancelTask(tenant: fixture.tenant, id: id)
        let aside = try await TestDatabase.current.connection()
        let pruner = try fixture.eagerPruner()
        for (days, isHeld) in [(36, true), (38, false)] {
            _ = try await aside.execute(
                "UPDATE outcome SET finished_at = now() - \(Int64(days)) * interval '1 day'"
            )
            try await pruner.expireTasks()
            #expect(try await isKept(id, fixture) == isHeld)
        }
    }

    @Test func aTaskStaysUntilItsOwnFilesAreGone() async throws {
        let fixture = try await EngineFixture()
        var ids: [TaskID] = []
        for _ in 0..<2 {
            let id = try await fixture.submit(fixture.origin.url("/upload")) { submission in
                submission.request = TransferRequest(kind: .upload, upload: .staged)
            }
            _ = try await fixture.stores.control.cancelTask(tenant: fixture.tenant, id: id)
            ids.append(id)
        }
        // A folder is not removed as a file would be.
        let body = ResultLocation.bodyPath(of: ids[0])
        try fixture.place([1], at: "\(body)/file")
        let pruner = try fixture.eagerPruner()
        try await pruner.expireTasks()
        #expect(try await isKept(ids[0], fixture))
        #expect(try await !isKept(ids[1], fixture))
        try FileManager.default.removeItem(atPath: "\(fixture.container)/\(body)")
        try await pruner.expireTasks()
        #expect(try await !isKept(ids[0], fixture))
    }
}
