package import Foundation

/// A tenant's request to have its events delivered to an address.
package struct Subscription: Sendable {
    package let id: SubscriptionID
    package let tenant: TenantID
    /// The client whose events are delivered; nil for those of all clients of the tenant.
    package let client: ClientID?
    /// The session whose events are delivered, which requires a client; nil for all sessions.
    package let sessionIdentifier: String?
    package let settings: SubscriptionSettings
    /// The reason why nothing is sent now; nil while the subscription is enabled.
    package let disablement: Disablement?
    package let createdAt: Date
    /// The number of changes of the subscription.
    package let revision: Int32

    package init(
        id: SubscriptionID,
        tenant: TenantID,
        client: ClientID? = nil,
        sessionIdentifier: String?,
        settings: SubscriptionSettings,
        disablement: Disablement? = nil,
        createdAt: Date,
        revision: Int32 = 0
    ) {
        self.id = id
        self.tenant = tenant
        // A session without a named client belongs to the client that every tenant has.
        self.client = client ?? (sessionIdentifier == nil ? nil : .default)
        self.sessionIdentifier = sessionIdentifier
        self.settings = settings
        self.disablement = disablement
        self.createdAt = createdAt
        self.revision = revision
    }

    /// The reason why nothing is sent, and the time since; events wait and keep their place and
    /// order.
    package struct Disablement: Equatable, Sendable {
        package let reason: Reason
        package let since: Date

        package init(reason: Reason, since: Date) {
            self.reason = reason
            self.since = since
        }

        /// The one who disabled the subscription; part of the API, never renamed.
        package enum Reason: String, CaseIterable, Sendable {
            /// The subscription's owner.
            case client
            /// The receiver, by the answer 410.
            case gone
            /// The service, after days in which nothing got through.
            case failing
        }
    }
}
