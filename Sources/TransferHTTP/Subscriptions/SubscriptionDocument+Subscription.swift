import StandardWebhooks
import TransferModel
import TransferWire

extension SubscriptionDocument {
    /// Describes a subscription as clients see it; `secret` is given only when it is to be shown.
    init(_ subscription: Subscription, secret: SigningSecret? = nil) {
        let settings = subscription.settings
        let names = settings.headers.map(\.name)
        self.init(
            id: subscription.id.description,
            url: settings.url,
            client: subscription.client?.name,
            sessionIdentifier: subscription.sessionIdentifier,
            eventTypes: settings.filter?.terms,
            description: settings.description,
            disabled: subscription.disablement.map {
                Disablement(reason: $0.reason.rawValue, since: Timestamp($0.since))
            },
            headerNames: names.isEmpty ? nil : names,
            concurrency: settings.concurrency,
            rateLimit: settings.rateLimit,
            ackTimeoutSeconds: settings.ackTimeout.components.seconds,
            deliveryForm: settings.form.rawValue,
            wakeUpThrottling: settings.throttlesWakeUps,
            createdAt: Timestamp(subscription.createdAt),
            secret: secret?.serialized
        )
    }
}
