/// An owner's changes to a subscription; nil leaves a value as it is.
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
