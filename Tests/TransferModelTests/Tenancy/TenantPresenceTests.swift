import Foundation
import Testing

@testable import TransferModel

@Suite struct TenantPresenceTests {
    private let presence = TenantPresence()
    private let now = ContinuousClock.now
    private let quiet = TenantID(UUID())
    private let flood = TenantID(UUID())

    @Test func whoeverComesOftenHidesNobody() {
        presence.note(quiet, at: now)
        for _ in 0..<100 { presence.note(flood, at: now) }
        #expect(!presence.isAlone(flood, at: now))
        #expect(presence.isAlone(flood, beside: [quiet], at: now))
        #expect(presence.visitCount == 2)
    }

    @Test func theLatestAreRemembered() {
        let tenants = (0...TenantPresence.visitsMax).map { _ in TenantID(UUID()) }
        for tenant in tenants { presence.note(tenant, at: now) }
        #expect(presence.isAlone(flood, beside: Set(tenants.dropFirst()), at: now))
        #expect(!presence.isAlone(flood, beside: Set(tenants.dropLast()), at: now))
    }
}
