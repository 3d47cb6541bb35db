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
