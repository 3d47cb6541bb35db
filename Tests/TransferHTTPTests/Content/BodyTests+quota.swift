import Testing
import TransferStore
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

/// Bodies of a tenant that may keep so many bytes.
extension BodyTests {
    @Test func aBodyThatItsTenantMayNotKeepIsRefusedWithTheLimit() async throws {
        try await Self.run { server, path, id in
            func limit(_ bytes: Int64?) async throws {
                _ = try await server.stores.tenants.limitTenant(
                    named: "first",
                    changes: TenantLimitChanges(storedBytesMax: .some(bytes))
                )
            }
            try await limit(Int64(Self.total) - 1)
            let refused = try await Self.put(server, path)
            #expect(refused.status == 429)
            let problem = try refused.json(ProblemDetails.self)
            #expect(problem.code == .quotaExceeded)
            #expect(problem.limit == "stored_bytes")
            #expect(problem.maximum == Int64(Self.total) - 1)
            #expect(refused.fields["upload-offset"] == "0")
            // A part of it counts with what is to follow.
            #expect(try await Self.put(server, path, 0..<1000).status == 429)
            try await limit(Int64(Self.total))
            #expect(try await Self.put(server, path).status == 200)
            let tenant = try await server.send("GET", "/v1/tenant").json(TenantDocument.self)
            #expect(tenant.storedBytes == Int64(Self.total))
            #expect(tenant.storedBytesMax == Int64(Self.total))
        }
    }
}
