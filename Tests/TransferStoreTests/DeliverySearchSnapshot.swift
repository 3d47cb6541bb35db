import Postgres
import TransferModel

/// All that the database holds of the deliveries of a ``DeliverySearch``.
struct DeliverySearchSnapshot {
    struct Delivery {
        let acknowledged: Int64
        /// Whether nothing will make it due but another event.
        let isIdle: Bool
        let isDue: Bool
        let fence: Int64?
        let worker: Int32?
        let attempt: Int16
    }

    /// By subscription; none before the first event.
    let deliveries: [Delivery]
    let lastSequence: Int64
    private let workers: [Int32]

    static let query: Query = """
        SELECT p.last_sequence, w.workers, d.acknowledged_sequence, d.due_at IS NULL AS is_idle,
            coalesce(d.due_at <= clock_timestamp(), false) AS is_due, d.fence, d.worker, d.attempt
        FROM (SELECT coalesce(max(last_sequence), 0) AS last_sequence FROM session_progress) p
        CROSS JOIN (
            SELECT coalesce(string_agg(incarnation::text, ' ' ORDER BY incarnation), '') AS workers
            FROM worker
        ) w
        LEFT JOIN delivery d ON true
        ORDER BY d.subscription_id
        """

    init(_ rows: Rows) throws {
        lastSequence = try rows.first?.decode("last_sequence") ?? 0
        workers = try (rows.first?.decode("workers", as: String.self) ?? "")
            .split(separator: " ").compactMap { Int32($0) }
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

    /// The same for two moments from which the same can happen: fences are named by where they are
    /// met first.
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

    /// The same for two moments that do not differ for those who come after all dispatchers.
    func key(of world: DeliverySearchWorld) -> String {
        let words = deliveries.map { delivery in
            "\(delivery.acknowledged) \(delivery.isIdle) \(delivery.isDue) \(delivery.attempt) "
                + "\(delivery.fence != nil)"
        }
        let rest = "\(lastSequence) \(world.taken) \(world.writes.count)"
        return (words + [rest]).joined(separator: "\n")
    }
}
