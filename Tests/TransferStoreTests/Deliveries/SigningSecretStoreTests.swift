import Foundation
import Postgres
import StandardWebhooks
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

@Suite(.postgresSchema) struct SigningSecretStoreTests {
    @Test(arguments: 0..<6)
    func ofParallelRotationsEachLeavesItsSecretAndOneIsNewest(round: Int) async throws {
        let fixture = try await StoreFixture(connectionsMax: 9)
        let id = try await fixture.subscribe()
        let secrets = (0..<9).map { _ in SigningSecret.random() }
        try await withThrowingTaskGroup { group in
            for secret in secrets {
                group.addTask {
                    let result = try await fixture.stores.subscriptions.rotateSecret(
                        tenant: fixture.tenant,
                        id: id,
                        to: secret,
                        othersExpireAt: Date() + 600
                    )
                    guard case .rotated = result else {
                        Issue.record("not rotated: \(result)")
                        return
                    }
                }
            }
            try await group.waitForAll()
        }
        try await fixture.submit()
        let claim = try await fixture.claimDeliveries()[0]
        #expect(claim.endpoint.secrets.count == 10)
        #expect(Set(claim.endpoint.secrets.map(\.bytes)).isSuperset(of: secrets.map(\.bytes)))
    }

    @Test func secretsBeforeTheNewestEndInTimeAndAreBounded() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.subscribe()
        func rotate(_ expiry: Date?) async throws -> RotationResult {
            try await fixture.stores.subscriptions.rotateSecret(
                tenant: fixture.tenant,
                id: id,
                to: .random(),
                othersExpireAt: expiry
            )
        }
        for _ in 2...SigningSecret.livingMax {
            guard case .rotated = try await rotate(Date() + 600) else {
                Issue.record("not rotated")
                return
            }
        }
        guard case .tooManySecrets = try await rotate(Date() + 600) else {
            Issue.record("rotated beyond the bound")
            return
        }
        try await fixture.submit()
        let all = try await fixture.claimDeliveries(lease: .zero)[0]
        #expect(all.endpoint.secrets.count == SigningSecret.livingMax)
        // A later rotation gives those that have ended no new end, …
        _ = try await fixture.aside.execute(
            """
            UPDATE signing_secret SET expires_at = now() - interval '1 ms'
            WHERE expires_at IS NOT NULL
            """
        )
        guard case .rotated = try await rotate(Date() + 600) else {
            Issue.record("not rotated")
            return
        }
        #expect(try await fixture.claimDeliveries(lease: .zero)[0].endpoint.secrets.count == 2)
        // … and does not extend the end set by an earlier one.
        guard case .rotated = try await rotate(Date() + 6000) else {
            Issue.record("not rotated")
            return
        }
        _ = try await fixture.aside.execute(
            "UPDATE signing_secret SET expires_at = expires_at - interval '1 hour'"
        )
        #expect(try await fixture.claimDeliveries(lease: .zero)[0].endpoint.secrets.count == 2)
        guard case .rotated = try await rotate(nil) else {
            Issue.record("not rotated")
            return
        }
        #expect(try await fixture.claimDeliveries()[0].endpoint.secrets.count == 1)
    }
}
