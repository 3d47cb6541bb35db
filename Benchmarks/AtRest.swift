import Foundation

/// A service with little to do: how soon a webhook follows the last byte of a download, and what
/// subscriptions cost to which nothing happens.
struct AtRest {
    let program: String
    let folder: Folder
    /// Downloads, one after the other.
    let downloads: Int
    /// Subscriptions to sessions in which nothing happens.
    let subscriptions: Int

    /// How long a service without work is looked at.
    private static let idleTime: Duration = .seconds(10)
    /// After which what was begun by the work before has ended.
    private static let settling: Duration = .seconds(3)
    /// Requests at once that make subscriptions.
    private static let requestsMax = 16

    /// Measures on a service of its own.
    func measure(into table: inout Table) async throws {
        let service = try await Service(program: program, folder: folder, parallel: 64)
        defer { service.stop() }
        // What only the first of all does is not a cost of each.
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
            for lane in 0..<Self.requestsMax {
                group.addTask {
                    for number in stride(from: lane, to: subscriptions, by: Self.requestsMax) {
                        _ = try await service.send(
                            "POST",
                            "/v1/subscriptions",
                            #"{"url":"http://127.0.0.1:9/","session_identifier":"idle-\#(number)"}"#
                        )
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}
