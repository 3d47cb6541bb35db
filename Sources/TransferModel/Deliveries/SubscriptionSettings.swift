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
    /// Whether `session.events_finished` waits after the last one, the longer the more often it comes.
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
