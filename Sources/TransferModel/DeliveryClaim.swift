/// A subscription's due events of one session, given to this instance to deliver.
package struct DeliveryClaim: Sendable {
    package let subscription: SubscriptionID
    package let session: SessionID
    package let fence: Fence
    /// The last event that the subscriber has answered with 2xx.
    package let acknowledgedSequence: Int64
    /// Tries so far of the next message.
    package let attempt: Int
    package let endpoint: Endpoint
    /// Nil for every kind.
    package let filter: EventFilter?
    /// Nil for the service's bound.
    package let concurrency: Int?
    /// Messages a second; nil for no bound.
    package let rateLimit: Int?

    package init(
        subscription: SubscriptionID,
        session: SessionID,
        fence: Fence,
        acknowledgedSequence: Int64,
        attempt: Int,
        endpoint: Endpoint,
        filter: EventFilter? = nil,
        concurrency: Int? = nil,
        rateLimit: Int? = nil
    ) {
        self.subscription = subscription
        self.session = session
        self.fence = fence
        self.acknowledgedSequence = acknowledgedSequence
        self.attempt = attempt
        self.endpoint = endpoint
        self.filter = filter
        self.concurrency = concurrency
        self.rateLimit = rateLimit
    }
}

/// Where a subscription's messages go, and with what.
package struct Endpoint: Sendable {
    package let url: String
    /// Of the subscription's owner.
    package let headers: [HTTPHeader]
    /// The keys that sign a message, all of them, from the newest.
    package let secrets: [SigningSecret]

    package init(url: String, headers: [HTTPHeader] = [], secrets: [SigningSecret]) {
        self.url = url
        self.headers = headers
        self.secrets = secrets
    }
}
