import Foundation
import TransferModel

@testable import TransferEngine

/// Schedules and their inputs, for suites about them.
protocol FairShareFixture {}

private let tenants = (0..<4).map { _ in TenantID(UUID()) }

extension FairShareFixture {
    static var tenants: [TenantID] { TransferEngineTests.tenants }

    static func share(
        _ change: (inout FairShare.Settings) -> Void = { _ in }
    ) -> FairShare {
        var settings = FairShare.Settings()
        settings.aheadMax = 0
        change(&settings)
        var share = FairShare(settings)
        share.own(Set(Shard.all), foreign: [:])
        return share
    }

    static func flow(
        _ hostKey: Int64,
        tenant: Int = 0,
        session: SessionID = SessionID(UUID()),
        rank: Int16 = 500,
        perHost: Int? = nil,
        tasksMax: Int? = nil,
        isDiscretionary: Bool = false
    ) -> WaitingFlow {
        WaitingFlow(
            flow: Flow(hostKey: HostKey(rawValue: hostKey), session: session),
            tenant: tenants[tenant],
            position: FlowPosition(priority: TaskPriority(rank: rank), task: TaskID(UUID())),
            maxConnectionsPerHost: perHost,
            tenantTasksMax: tasksMax,
            isDiscretionary: isDiscretionary
        )
    }

    /// Claims everything that is granted, as if each flow held tasks without end.
    static func take(
        _ grants: [FlowGrant],
        from flows: [WaitingFlow],
        in share: inout FairShare,
        fence: inout Int64
    ) -> [TaskClaim] {
        var claims: [TaskClaim] = []
        for grant in grants {
            guard let details = flows.first(where: { $0.flow == grant.flow }) else { continue }
            for _ in 0..<grant.count {
                fence += 1
                claims.append(claim(fence, of: details))
            }
        }
        share.took(claims, of: grants)
        return claims
    }

    static func claim(
        _ fence: Int64,
        of details: WaitingFlow,
        request: TransferRequest = TransferRequest()
    ) -> TaskClaim {
        TaskClaim(
            task: TaskID(UUID()),
            fence: Fence(rawValue: fence),
            tenant: details.tenant,
            session: details.flow.session,
            hostKey: details.flow.hostKey,
            priority: details.position.priority,
            number: 1,
            url: "http://a.test/",
            request: request,
            headers: [],
            destination: nil,
            timeoutForRequest: .seconds(1),
            timeoutForResource: .seconds(1)
        )
    }

    static func counts(_ grants: [FlowGrant]) -> [Flow: Int] {
        Dictionary(uniqueKeysWithValues: grants.map { ($0.flow, $0.count) })
    }
}
