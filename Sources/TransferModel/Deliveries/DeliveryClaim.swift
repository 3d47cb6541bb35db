/// A subscription's due events of one session, given to this instance to deliver.
package struct DeliveryClaim: Sendable {
    package let subscription: SubscriptionID
    /// The tenant whose subscription it is.
    package let tenant: TenantID
    package let session: SessionID
    package let fence: Fence
    /// The number of the last event that the receiver answered with 2xx.
    package let acknowledgedSequence: Int64
    /// The number of tries so far of the message that was tried last.
    package let attempt: Int
    /// Whether that message was answered with 202 and not acknowledged in time.
    package let awaitsAck: Bool
    /// The message that was tried last; nil when the next message is tried for the first time.
    package let tried: TriedMessage?
    package let endpoint: Endpoint
    package let form: DeliveryForm
    /// Whether `session.events_finished` waits after the previous one.
    package let throttlesWakeUps: Bool
    /// The kinds of events asked for; nil for every kind.
    package let filter: EventFilter?
    /// Whether the subscription is for a client or a session, rather than for all of the tenant.
    package let isScoped: Bool
    /// The most sessions delivered at once; nil for the service's bound.
    package let concurrency: Int?
    /// The most messages per second; nil for no bound.
    package let rateLimit: Int?
    /// The time for which an acknowledgement is awaited.
    package let ackTimeout: Duration
    /// What the subscription was when it was claimed: it differs after every change of what is sent
    /// to it, or with which secrets.
    package let version: [Int32]

    package init(
        subscription: SubscriptionID,
        tenant: TenantID,
        session: SessionID,
        fence: Fence,
        acknowledgedSequence: Int64,
        attempt: Int,
        awaitsAck: Bool = false,
        tried: TriedMessage? = nil,
        endpoint: Endpoint,
        form: DeliveryForm = .single,
        throttlesWakeUps: Bool = false,
        filter: EventFilter? = nil,
        isScoped: Bool = false,
        concurrency: Int? = nil,
        rateLimit: Int? = nil,
        ackTimeout: Duration = SubscriptionSettings.ackTimeoutDefault,
        version: [Int32] = []
    ) {
        self.subscription = subscription
        self.tenant = tenant
        self.session = session
        self.fence = fence
        self.acknowledgedSequence = acknowledgedSequence
        self.attempt = attempt
        self.awaitsAck = awaitsAck
        self.tried = tried
        self.endpoint = endpoint
        self.form = form
        self.throttlesWakeUps = throttlesWakeUps
        self.filter = filter
        self.isScoped = isScoped
        self.concurrency = concurrency
        self.rateLimit = rateLimit
        self.ackTimeout = ackTimeout
        self.version = version
    }
}
