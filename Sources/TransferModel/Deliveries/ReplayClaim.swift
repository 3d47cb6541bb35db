package import Foundation

/// A logged delivery given to this instance to send once more.
package struct ReplayClaim: Sendable {
    package let delivery: DeliveryID
    package let subscription: SubscriptionID
    /// The tenant whose subscription it is.
    package let tenant: TenantID
    package let session: SessionID
    /// The number of the last event in the message.
    package let sequence: Int64
    /// The number of the first event of a batch; nil for a message of one event.
    package let batchFirst: Int64?
    package let fence: Fence
    /// The time since which it was due, which is its place among the subscription's replays.
    package let dueAt: Date
    package let endpoint: Endpoint
    /// The kinds of events asked for; nil for every kind.
    package let filter: EventFilter?
    /// Whether the subscription is for a client or a session, rather than for all of the tenant.
    package let isScoped: Bool
    /// The most messages per second; nil for no bound.
    package let rateLimit: Int?
    /// The version of the subscription that all this was read from.
    package let version: [Int32]

    package init(
        delivery: DeliveryID,
        subscription: SubscriptionID,
        tenant: TenantID,
        session: SessionID,
        sequence: Int64,
        batchFirst: Int64? = nil,
        fence: Fence,
        dueAt: Date,
        endpoint: Endpoint,
        filter: EventFilter? = nil,
        isScoped: Bool = false,
        rateLimit: Int? = nil,
        version: [Int32] = []
    ) {
        self.delivery = delivery
        self.subscription = subscription
        self.tenant = tenant
        self.session = session
        self.sequence = sequence
        self.batchFirst = batchFirst
        self.fence = fence
        self.dueAt = dueAt
        self.endpoint = endpoint
        self.filter = filter
        self.isScoped = isScoped
        self.rateLimit = rateLimit
        self.version = version
    }
}
