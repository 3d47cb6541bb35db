import Foundation
import TransferClient
import TransferWire

extension Service {
    /// The number of sessions whose events wait for delivery.
    private static let sessions = 20

    /// Delivers `count` events to a receiver that answers at once, beside a subscription to the
    /// same events whose receiver never answers.
    ///
    /// - Returns: seconds from the time when the first may be sent until all have arrived.
    func deliver(_ count: Int, to origin: Origin) async throws -> Double {
        let hole = try BlackHole()
        defer { hole.close() }
        let dead = try await client.subscribe(
            SubscriptionRequest(url: "http://127.0.0.1:\(hole.port)/")
        )
        let living = try await client.subscribe(
            SubscriptionRequest(url: origin.hookURL, enabled: false, concurrency: 16)
        )
        let task = TaskRequest(target: .url(origin.largeURL), autostart: false)
        let batchMax = min(SubmitRequest.tasksMax, count / Self.sessions)
        let batch = Array(repeating: task, count: batchMax)
        for _ in 0..<count / batchMax {
            try await client.submit(batch, toSession: try await session())
        }
        let before = try await origin.requestCount()
        var polls = 0
        let start = ContinuousClock.now
        try await client.change(
            SubscriptionPatchRequest(enabled: true),
            ofSubscription: living.id
        )
        while true {
            polls += 1
            if try await origin.requestCount() - before - polls >= count { break }
            try await Task.sleep(for: .milliseconds(5))
        }
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        for subscription in [dead, living] { try await client.unsubscribe(subscription.id) }
        return seconds
    }
}
