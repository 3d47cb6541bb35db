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

/// What the owner of a subscription may set and change.
package struct SubscriptionSettings: Equatable, Sendable {
    package static let descriptionBytesMax = 1000
    package static let headersMax = 20
    package static let concurrencyRange = 1...16
    package static let rateLimitRange = 1...1000
    package static let ackTimeoutDefault: Duration = .seconds(600)
    /// In seconds.
    package static let ackTimeoutRange = 1...86_400

    package var url: String
    /// Nil for every kind of event.
    package var filter: EventFilter?
    /// For people; at most ``descriptionBytesMax`` bytes.
    package var description: String?
    /// Sent with every message; the values are secrets.
    package var headers: [HTTPHeader]
    /// Sessions whose events are delivered at once, by each instance; nil for the service's bound.
    package var concurrency: Int?
    /// Messages a second, by each instance; nil for no bound.
    package var rateLimit: Int?
    /// How long after an answer of 202 the acknowledgement of `session.events_finished` is awaited.
    package var ackTimeout: Duration
    /// What a message holds.
    package var form: DeliveryForm
    /// Whether `session.events_finished` waits after the last one, as ``WakeUpThrottle`` says.
    package var throttlesWakeUps: Bool

    package init(
        url: String,
        filter: EventFilter? = nil,
        description: String? = nil,
        headers: [HTTPHeader] = [],
        concurrency: Int? = nil,
        rateLimit: Int? = nil,
        ackTimeout: Duration = ackTimeoutDefault,
        form: DeliveryForm = .single,
        throttlesWakeUps: Bool = false
    ) {
        self.url = url
        self.filter = filter
        self.description = description
        self.headers = headers
        self.concurrency = concurrency
        self.rateLimit = rateLimit
        self.ackTimeout = ackTimeout
        self.form = form
        self.throttlesWakeUps = throttlesWakeUps
    }
}

/// What the owner of a subscription wants changed; nil leaves it as it is.
package struct SubscriptionChange: Sendable {
    package var url: String?
    package var filter: EventFilter??
    package var description: String??
    package var headers: [HTTPHeader]?
    package var concurrency: Int??
    package var rateLimit: Int??
    package var ackTimeout: Duration?
    package var form: DeliveryForm?
    package var throttlesWakeUps: Bool?
    package var isEnabled: Bool?

    package init() {}
}
