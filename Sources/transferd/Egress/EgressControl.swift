import Curl
import Logging
import ServiceLifecycle
import TransferModel
import TransferStore

/// What decides where requests of this instance go, and the services that keep it up to date.
struct EgressControl: Sendable {
    /// The guard of all requests.
    let guarding: EgressGuard
    let services: [any Service]

    /// Learns what it decides by, before anything is sent.
    init(
        _ policy: EgressPolicy,
        through proxy: CurlProxy?,
        _ database: Database,
        own: OwnEndpoints,
        patience: StartPatience,
        logger: Logger
    ) async throws {
        let tenants = TenantRules(TenantStore(database), logger: logger)
        try await patience.outwait { try await tenants.look() }
        let listeners = ListenerWatch(ListenerStore(database), own: own, logger: logger)
        try await patience.outwait { try await listeners.look() }
        let refusals = EgressRefusals(AuditStore(database), logger: logger)
        guarding = EgressGuard(
            policy,
            tenants: tenants,
            own: own,
            proxy: proxy,
            refusals: refusals
        )
        services = [tenants, listeners, refusals]
    }
}
