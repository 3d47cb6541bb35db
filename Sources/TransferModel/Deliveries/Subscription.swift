package import Foundation

/// Where a tenant wants its events delivered.
package struct Subscription: Sendable {
    package let id: SubscriptionID
    package let tenant: TenantID
    /// Nil for the events of all clients of the tenant.
    package let client: ClientID?
    /// Nil for the events of all sessions; otherwise there is a client.
    package let sessionIdentifier: String?
    package let settings: SubscriptionSettings
    /// Why nothing is sent now; nil while it is enabled.
    package let disablement: Disablement?
    package let createdAt: Date

    package init(
        id: SubscriptionID,
        tenant: TenantID,
        client: ClientID? = nil,
        sessionIdentifier: String?,
        settings: SubscriptionSettings,
        disablement: Disablement? = nil,
        createdAt: Date
    ) {
        self.id = id
        self.tenant = tenant
        // The sessions of the client that every tenant has need no other word.
        self.client = client ?? (sessionIdentifier == nil ? nil : .default)
        self.sessionIdentifier = sessionIdentifier
        self.settings = settings
        self.disablement = disablement
        self.createdAt = createdAt
    }

    /// Since when nothing is sent, and why; events wait meanwhile and lose neither place nor order.
    package struct Disablement: Equatable, Sendable {
        package let reason: Reason
        package let since: Date

        package init(reason: Reason, since: Date) {
            self.reason = reason
            self.since = since
        }

        /// Who disabled it; part of the API, never renamed.
        package enum Reason: String, CaseIterable, Sendable {
            /// Its owner.
            case client
            /// Its receiver, by the answer 410.
            case gone
            /// The service, after days in which nothing got through.
            case failing
        }
    }
}
