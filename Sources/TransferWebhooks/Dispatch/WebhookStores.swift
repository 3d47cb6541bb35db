package import TransferStore

/// The stores that deliveries are made from.
///
/// One reference, because each piece of work copies them.
package final class WebhookStores: Sendable {
    package let events: EventStore
    package let deliveries: DeliveryStore
    package let deliveryLog: DeliveryLogStore
    package let wakeUps: WakeUpStore

    package init(_ database: Database) {
        events = EventStore(database)
        deliveries = DeliveryStore(database)
        deliveryLog = DeliveryLogStore(database)
        wakeUps = WakeUpStore(database)
    }
}
