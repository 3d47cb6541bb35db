/// The settings that the owner of a subscription may make and change.
package struct SubscriptionSettings: Equatable, Sendable {
    /// The longest description, in bytes.
    package static let descriptionBytesMax = 1000
    /// The most headers of one subscription.
    package static let headersMax = 20
    /// The allowed values of ``concurrency``.
    package static let concurrencyRange = 1...16
    /// The allowed values of ``rateLimit``, in messages per second.
    package static let rateLimitRange = 1...1000
    /// The value of ``ackTimeout`` unless the owner says otherwise.
    package static let ackTimeoutDefault: Duration = .seconds(600)
    /// The allowed values of ``ackTimeout``, in seconds.
    package static let ackTimeoutRange = 1...86_400

    package var url: String
    /// The kinds of events asked for; nil for every kind.
    package var filter: EventFilter?
    /// A description for people, at most ``descriptionBytesMax`` bytes.
    package var description: String?
    /// The headers sent with every message; their values are secrets.
    package var headers: [HTTPHeader]
    /// The most sessions delivered at once by each instance; nil for the service's bound.
    package var concurrency: Int?
    /// The most messages per second from each instance; nil for no bound.
    package var rateLimit: Int?
    /// The time after an answer of 202 for which `session.events_finished` awaits its
    /// acknowledgement.
    package var ackTimeout: Duration
    /// The content of a message.
    package var form: DeliveryForm
    /// Whether `session.events_finished` waits after the previous one, the longer the more often it
    /// comes.
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
