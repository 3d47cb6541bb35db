import Foundation
import Postgres
import TransferModel

/// The database's complete state of the deliveries in a ``DeliverySearch``.
struct DeliverySearchSnapshot {
    struct Delivery {
        let acknowledged: Int64
        /// Whether nothing but another event will make it due.
        let isIdle: Bool
        let isDue: Bool
        let fence: Int64?
        let worker: Int32?
        let attempt: Int16
    }

    /// The deliveries by subscription; none before the first event.
    let deliveries: [Delivery]
    let lastSequence: Int64
    /// The expired events, as reported to the tenant: subscription, first and last event, in order.
    let told: [(subscription: SubscriptionID, sequences: ClosedRange<Int64>)]
    /// Whether events of the session are kept.
    let hasEvents: Bool
    private let workers: [Int32]

    static let query: Query = """
        SELECT p.last_sequence, w.workers, d.acknowledged_sequence, d.due_at IS NULL AS is_idle,
            coalesce(d.due_at <= clock_timestamp(), false) AS is_due, d.fence, d.worker, d.attempt,
            t.subscriptions, t.bounds,
            EXISTS (
                SELECT 1 FROM event e WHERE e.kind <> 'subscription.events_expired') AS has_events
        FROM (
            SELECT coalesce(max(last_sequence), 0) AS last_sequence FROM session_progress
            WHERE session_id NOT IN (SELECT id FROM tenant)
        ) p
        CROSS JOIN (
            SELECT
                coalesce(array_agg((e.details->>'subscription_id')::uuid ORDER BY e.sequence), '{}')
                    AS subscriptions,
                coalesce(array_agg(x.bound ORDER BY e.sequence, x.bound), '{}') AS bounds
            FROM event e
            CROSS JOIN LATERAL (
                VALUES ((e.details->>'first_sequence')::bigint),
                    ((e.details->>'last_sequence')::bigint + 1)) x (bound)
            WHERE e.kind = 'subscription.events_expired'
        ) t
        CROSS JOIN (
            SELECT coalesce(string_agg(incarnation::text, ' ' ORDER BY incarnation), '') AS workers
            FROM worker
        ) w
        LEFT JOIN delivery d ON d.session_id NOT IN (SELECT id FROM tenant)
        ORDER BY d.subscription_id
        """

    init(_ rows: Rows) throws {
        lastSequence = try rows.first?.decode("last_sequence") ?? 0
        workers = try (rows.first?.decode("workers", as: String.self) ?? "")
            .split(separator: " ").compactMap { Int32($0) }
        hasEvents = try rows.first?.decode("has_events") ?? false
        let subscriptions = try rows.first?.decode("subscriptions", as: [UUID].self) ?? []
        let bounds = try rows.first?.decode("bounds", as: [Int64].self) ?? []
        told = stride(from: 0, to: subscriptions.count, by: 2).map { index in
            (SubscriptionID(subscriptions[index]), bounds[index]...(bounds[index + 1] - 1))
        }
        deliveries = try rows.compactMap { row in
            guard
                let acknowledged = try row.decodeIfPresent("acknowledged_sequence", as: Int64.self)
            else { return nil }
            return Delivery(
                acknowledged: acknowledged,
                isIdle: try row.decode("is_idle"),
                isDue: try row.decode("is_due"),
                fence: try row.decodeIfPresent("fence"),
                worker: try row.decodeIfPresent("worker"),
                attempt: try row.decode("attempt")
            )
        }
    }

    /// Returns a key that is equal for two moments with the same possible futures: fences are named
    /// in the order in which they are met.
    func key(with world: DeliverySearchWorld) -> String {
        var fences: [Int64: Int] = [:]
        func name(_ fence: Int64?) -> Int {
            guard let fence else { return -1 }
            let number = fences[fence] ?? fences.count
            fences[fence] = number
            return number
        }
        let places = world.dispatchers.map(\.incarnation)
        func place(_ worker: Int32?) -> Int { places.firstIndex { $0 == worker } ?? -1 }
        var words = deliveries.map { "\(name($0.fence)) \(place($0.worker))" }
        for dispatcher in world.dispatchers {
            words.append("\(dispatcher.isRunning)")
            words += dispatcher.held.map {
                "\(name($0.claim.fence.rawValue)) \($0.cursor) \($0.recorded)"
            }
        }
        words.append("\(workers.map { place($0) }) \(world.allowance) \(world.hasBegun)")
        return key(of: world) + "\n" + words.joined(separator: "\n")
    }

    /// Returns a key that is equal for two moments that do not differ for those that come after all
    /// dispatchers.
    func key(of world: DeliverySearchWorld) -> String {
        let words = deliveries.map { delivery in
            "\(delivery.acknowledged) \(delivery.isIdle) \(delivery.isDue) \(delivery.attempt) "
                + "\(delivery.fence != nil)"
        }
        let received = world.received.map { $0.sorted() }
        let rest =
            "\(lastSequence) \(world.taken) \(received) \(hasEvents) \(told) "
            + "\(world.writes.count)"
        return (words + [rest]).joined(separator: "\n")
    }
}
