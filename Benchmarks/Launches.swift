import Foundation
import TransferModel
import TransferStore

/// Launches of background tasks: how many a second the store makes, alone and beside requests whose
/// time has not come, and how late a service at rest makes them.
struct Launches {
    let program: String
    let folder: Folder
    let pgqueuer: Pgqueuer
    /// The number of requests whose time has not come.
    let pending: Int

    static let name = "launch"

    /// The number of requests of a round, ten for each client.
    private static let requests = 20_000
    private static let rounds = 3
    /// The number of jobs of a round of a peer.
    private static let peerJobs = 5_000
    /// The requests by which lateness is measured, and the time between two of them.
    private static let lateRequests = 400
    private static let lateInterval: Duration = .milliseconds(25)

    func measure(into table: inout Table) async throws {
        try await MeasuredDatabase.with(program: program, folder: folder) { database in
            let alone = "\(Self.name), nothing else pending, transferd's store"
            for _ in 0..<Self.rounds {
                table.add(alone, try await rate(database), in: .perSecond)
            }
            try await lateness(database, "nothing else pending", &table)
            if pgqueuer.isInstalled() {
                for queue in ScheduledJobs.Queue.allCases {
                    try measure(queue, database, beside: alone, &table)
                }
            }
            guard pending > 0 else { return }
            try await database.makeRequests(pending, due: .seconds(86_400))
            try await database.settle()
            let beside = "\(Self.name), \(pending) pending, transferd's store"
            for _ in 0..<Self.rounds {
                table.add(beside, try await rate(database), in: .perSecond)
            }
            table.compare(beside, to: alone)
            try await lateness(database, "\(pending) pending", &table)
        }
    }

    /// Measures a queue whose jobs run at a time.
    private func measure(
        _ queue: ScheduledJobs.Queue,
        _ database: MeasuredDatabase,
        beside alone: String,
        _ table: inout Table
    ) throws {
        let jobs = ScheduledJobs(queue: queue, python: pgqueuer.python)
        let name = "scheduled jobs, \(queue)"
        for _ in 0..<Self.rounds {
            let figures = try jobs.measure(
                database,
                jobs: Self.peerJobs,
                lateJobs: Self.lateRequests,
                interval: Self.lateInterval
            )
            table.add(name, Double(Self.peerJobs) / figures.seconds, in: .perSecond)
            addLateness(figures.late, "\(queue)", &table)
        }
        table.compare(alone, to: name)
    }

    /// Returns the launches a second of requests that are all due.
    private func rate(_ database: MeasuredDatabase) async throws -> Double {
        try await database.makeRequests(Self.requests, due: .zero)
        let timers = database.timers
        let start = ContinuousClock.now
        var count = 0
        while true {
            let due = try await timers.dueRequests()
            guard !due.isEmpty else { break }
            count += try await timers.decide(due.map { ($0, LaunchDecision($0)) })
        }
        guard count == Self.requests else {
            throw Program.Failure(description: "\(count) of \(Self.requests) were launched")
        }
        let rate = Double(count) / ((ContinuousClock.now - start) / .seconds(1))
        try await database.forgetRuns()
        return rate
    }

    /// Measures how late a service launches that has nothing else to do.
    private func lateness(
        _ database: MeasuredDatabase,
        _ name: String,
        _ table: inout Table
    ) async throws {
        let service = try await Service(program: program, database: database, parallel: 64)
        defer { service.stop() }
        try await database.makeRequests(
            Self.lateRequests,
            due: .seconds(3),
            every: Self.lateInterval
        )
        addLateness(try await database.lateness(of: Self.lateRequests), name, &table)
        try await database.forgetRuns()
    }

    private func addLateness(_ values: [Double], _ name: String, _ table: inout Table) {
        for percent in [50, 99] {
            table.add(
                "due to launched, p\(percent), at rest, \(name)",
                Table.percentile(percent, of: values),
                in: .milliseconds
            )
        }
    }
}
