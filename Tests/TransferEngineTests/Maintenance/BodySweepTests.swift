import Foundation
import Logging
import Testing
import TransferContainer
import TransferModel
import TransferStore
import TransferTestSupport

@testable import TransferEngine

/// What is known of bodies for uploads, when their tasks have ended.
@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct BodySweepTests {
    /// Room was reserved by a request that went on after the end, so that no file tells of it.
    @Test func whatIsKnownOfABodyGoesAlsoWithoutAFile() async throws {
        let fixture = try await EngineFixture()
        var ids: [TaskID] = []
        for _ in 0..<2 {
            ids.append(
                try await fixture.submit(fixture.origin.url("/upload")) { submission in
                    submission.request = TransferRequest(kind: .upload, upload: .staged)
                }
            )
        }
        _ = try await fixture.stores.control.cancelTask(tenant: fixture.tenant, id: ids[1])
        let bodies = fixture.stores.stagedBodies
        for (task, bytes) in [(ids[0], 1), (ids[1], 10), (TaskID(.version7()), 100)] {
            try await bodies.reserve(Int64(bytes), for: task, of: fixture.tenant)
        }
        let pruner = try Pruner(
            stores: EngineStores(fixture.stores.database),
            container: Container(directory: fixture.directory),
            retention: Pruner.Retention(
                events: .seconds(30 * 24 * 3600),
                attempts: .seconds(30 * 24 * 3600),
                sessions: .seconds(30 * 24 * 3600)
            ),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        try await pruner.sweepBodies()
        let storage = try await fixture.stores.tenants.storage(of: fixture.tenant)
        #expect(storage.storedBytes == 1)
    }
}
