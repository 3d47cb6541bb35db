import Foundation
import TransferClient
import TransferWire

/// A service with little to do: the time from the last byte of a download to its webhook, and the
/// cost of subscriptions to which nothing happens.
struct AtRest {
    let program: String
    let folder: Folder
    /// The number of downloads, one after the other.
    let downloads: Int
    /// The number of subscriptions to sessions in which nothing happens.
    let subscriptions: Int

    /// The time for which a service without work is observed.
    private static let idleTime: Duration = .seconds(10)
    /// The time after which the previous work has ended.
    private static let settling: Duration = .seconds(3)
    /// The maximum number of simultaneous requests that make subscriptions.
    private static let requestsMax = 16

    /// Measures on a separate service.
    func measure(into table: inout Table) async throws {
        let service = try await Service(program: program, folder: folder, parallel: 64)
        defer { service.stop() }
        // Work that only the very first download causes is not a cost of each.
        _ = try await service.latencies(of: 20)
        try await measure(service, "at rest", &table)
        guard subscriptions > 0 else { return }
        let start = ContinuousClock.now
        try await subscribe(service)
        table.add(
            "\(subscriptions) subscriptions made, at rest",
            (ContinuousClock.now - start) / .seconds(1)
        )
        try await measure(service, "at rest with \(subscriptions) idle subscriptions", &table)
    }

    private func measure(_ service: Service, _ name: String, _ table: inout Table) async throws {
        let samples = try await service.latencies(of: downloads)
        let events: [(String, (Latency) -> Duration)] = [
            ("accepted to a file sent", \.started),
            ("last byte to task.completed", \.completed),
            ("of it, dated to arrived", \.age),
            ("last byte to session.events_finished", \.finished),
        ]
        for (event, duration) in events {
            let values = samples.map { duration($0) / .milliseconds(1) }
            for percent in [50, 99] {
                table.add(
                    "\(event), p\(percent), \(name)",
                    Table.percentile(percent, of: values),
                    in: .milliseconds
                )
            }
        }
        try await Task.sleep(for: Self.settling)
        let before = try service.work()
        try await Task.sleep(for: Self.idleTime)
        let after = try service.work()
        let seconds = Self.idleTime / .seconds(1)
        table.add(
            "processor of the service, \(name)",
            (after.service - before.service) / seconds * 100,
            in: .percent
        )
        table.add(
            "processor of PostgreSQL, \(name)",
            (after.postgres - before.postgres) / seconds * 100,
            in: .percent
        )
        table.add(
            "transactions, \(name)",
            Double(after.transactions - before.transactions) / seconds,
            in: .perSecond
        )
    }

    private func subscribe(_ service: Service) async throws {
        try await withThrowingTaskGroup { group in
            for first in 0..<Self.requestsMax {
                group.addTask {
                    for number in stride(from: first, to: subscriptions, by: Self.requestsMax) {
                        _ = try await service.client.subscribe(
                            SubscriptionRequest(
                                url: "http://127.0.0.1:9/",
                                sessionIdentifier: "idle-\(number)"
                            )
                        )
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}
