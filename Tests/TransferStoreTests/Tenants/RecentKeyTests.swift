import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct RecentKeyTests {
    /// Makes a key that was last used some days ago; nil for never.
    private func makeKey(
        _ id: String,
        of tenant: String,
        usedBefore days: Int64?,
        _ fixture: StoreFixture
    ) async throws {
        _ = try await fixture.stores.keys.createAPIKey(
            NewAPIKey(id: id, secretSHA256: Array(repeating: 1, count: 32), name: "test"),
            tenantName: tenant
        )
        _ = try await fixture.aside.execute(
            """
            UPDATE api_key SET last_used_at = now() - \(days) * interval '1 day'
            WHERE id = \(id)
            """
        )
    }

    @Test func theLastUsedKeyOfEachTenantComesFirst() async throws {
        let fixture = try await StoreFixture()
        for day: Int64 in 0..<3 { try await makeKey("a\(day)", of: "a", usedBefore: day, fixture) }
        for day: Int64 in 5..<7 { try await makeKey("b\(day)", of: "b", usedBefore: day, fixture) }
        try await makeKey("old", of: "b", usedBefore: 31, fixture)
        try await makeKey("unused", of: "c", usedBefore: nil, fixture)
        try await makeKey("revoked", of: "c", usedBefore: 0, fixture)
        #expect(try await fixture.stores.keys.revokeAPIKey(id: "revoked"))
        try await makeKey("expired", of: "c", usedBefore: 0, fixture)
        _ = try await fixture.aside.execute(
            "UPDATE api_key SET expires_at = now() WHERE id = 'expired'"
        )
        let keys = try await fixture.stores.keys.recentAPIKeys(limit: 100)
        #expect(keys.map(\.id) == ["a0", "b5", "a1", "b6", "a2"])
        #expect(Set(keys.map(\.tenant)).count == 2)
        #expect(keys.allSatisfy { $0.secretSHA256 == Array(repeating: 1, count: 32) })
        let few = try await fixture.stores.keys.recentAPIKeys(limit: 2)
        #expect(few.map(\.id) == ["a0", "b5"])
    }
}
