import Foundation
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

/// The order of the pages of many bulk operations.
@Suite(.postgresSchema, .timeLimit(.minutes(5))) struct BulkOperationTurnTests {
    private func begin(
        _ fixture: StoreFixture,
        tenant: TenantID,
        session identifier: String,
        tasks: Int
    ) async throws {
        let session = try await fixture.stores.sessions.putSession(
            tenant: tenant,
            identifier: identifier,
            configuration: SessionConfiguration()
        ).session
        for first in stride(from: 0, to: tasks, by: 500) {
            _ = try await fixture.stores.submissions.submit(
                StoreFixture.submissions(min(500, tasks - first)),
                tenant: tenant,
                sessionIdentifier: identifier
            )
        }
        _ = try await fixture.stores.bulkOperations.beginBulkOperation(
            .cancel,
            on: BulkOperation.Verb.cancel.statesDefault,
            of: try #require(session),
            tenant: tenant
        )
    }

    /// However many operations a tenant has, the others wait for a page of one and not for all.
    @Test func tenantsTakeTurns() async throws {
        let fixture = try await StoreFixture()
        let other = try await fixture.stores.keys.createAPIKey(
            NewAPIKey(id: "other", secretSHA256: Array(repeating: 0, count: 32), name: "other"),
            tenantName: "other"
        )
        for number in 0..<120 {
            try await begin(fixture, tenant: fixture.tenant, session: "many-\(number)", tasks: 1)
        }
        // The last by its identifier, and of three pages.
        try await begin(fixture, tenant: other, session: "theirs", tasks: 2500)
        let stores = fixture.stores.bulkOperations
        var pages: [TenantID] = []
        let count = try await stores.advanceBulkOperations { operation throws(StoreError) in
            pages.append(operation.tenant)
            return try await stores.advanceBulkOperation(operation, bodies: [])
        }
        #expect(count == 123)
        #expect(pages.count { $0 == other } == 3)
        #expect(try #require(pages.lastIndex(of: other)) < 6)
        try await fixture.checkInvariants()
    }
}
