import Foundation
import TransferModel
import TransferStore
import TransferWire

/// The cost of claiming and submitting beside many waiting tasks, and whether it grows with them.
struct Backlog {
    let program: String
    let folder: Folder
    /// The number of waiting tasks; compared with ``small``.
    let size: Int

    static let name = "backlog"
    /// The backlog that the others are compared with.
    static let small = 10_000
    /// The number of tasks that a session is said to hold.
    static let perSession = 100_000

    private static let claimed = 200
    /// The engine's own bound when nobody sets one.
    private static let perHost = 6
    /// The number of rounds; each submits as many tasks as it then claims and completes.
    private static let rounds = 60
    /// The number of rounds after which every statement has its plan.
    private static let warmUpRounds = 5

    /// The hosts that may get a connection.
    private enum View: String {
        case all = ""
        /// The host with nearly all tasks has all its connections.
        case besideFull = " that is full"
    }

    /// One backlog, and the measurements beside it.
    private struct Queue {
        let size: Int
        let database: MeasuredDatabase
        let worker: WorkerIdentity
        let identifiers: [String]
        /// The position among the hosts where the next claim starts.
        var position: HostKey
        /// The duration of each call in milliseconds.
        var claims: [Double] = []
        var submits: [Double] = []
        /// The number of claimed tasks.
        var claimed = 0
        var submitted = 0
    }

    func measure(into table: inout Table) async throws {
        try await MeasuredDatabase.with(program: program, folder: folder) { first in
            try await MeasuredDatabase.with(program: program, folder: folder) { second in
                try await measure([first, second], &table)
            }
        }
    }

    private func measure(_ databases: [MeasuredDatabase], _ table: inout Table) async throws {
        for spread in MeasuredDatabase.Spread.allCases {
            var queues: [Queue] = []
            for (size, database) in zip([Self.small, size], databases) {
                queues.append(try await queue(size, spread, database))
            }
            for view in spread == .one ? [View.all, .besideFull] : [.all] {
                try await measure(&queues, spread, view, &table)
            }
        }
    }

    /// Makes a backlog.
    private func queue(
        _ size: Int,
        _ spread: MeasuredDatabase.Spread,
        _ database: MeasuredDatabase
    ) async throws -> Queue {
        try await database.clear()
        let start = ContinuousClock.now
        var identifiers: [String] = []
        var sessions: [SessionID] = []
        for number in 0..<max(1, size / Self.perSession) {
            let identifier = "\(spread.rawValue), \(number)"
            identifiers.append(identifier)
            sessions.append(try await database.putSession(identifier))
        }
        try await database.makeReady(size, in: sessions, spread: spread)
        try await database.settle()
        let seconds = ((ContinuousClock.now - start) / .seconds(1)).rounded()
        print("  \(size) tasks wait for \(spread.rawValue), made in \(seconds) s")
        return Queue(
            size: size,
            database: database,
            worker: try await database.worker(),
            identifiers: identifiers,
            position: HostKey(rawValue: .min)
        )
    }

    /// Measures `queues` in turn, round by round, so that other load on the machine affects all
    /// alike.
    private func measure(
        _ queues: inout [Queue],
        _ spread: MeasuredDatabase.Spread,
        _ view: View,
        _ table: inout Table
    ) async throws {
        for round in 0..<Self.warmUpRounds + Self.rounds {
            for index in queues.indices {
                if round == Self.warmUpRounds {
                    queues[index].claims = []
                    queues[index].submits = []
                    queues[index].claimed = 0
                    queues[index].submitted = 0
                    try await queues[index].database.forgetCosts()
                }
                try await work(&queues[index], round, spread, view)
            }
        }
        for queue in queues {
            let hosts = "\(spread.rawValue)\(view.rawValue)"
            func name(_ what: String, _ size: Int) -> String { "\(what), \(size) wait, \(hosts)" }
            func add(_ what: String, _ value: Double, _ unit: Table.Unit) {
                table.add(name(what, queue.size), value, in: unit)
                guard queue.size != Self.small else { return }
                table.compare(name(what, queue.size), to: name(what, Self.small))
            }
            for (what, values) in [("claim", queue.claims), ("submit", queue.submits)] {
                for percent in [50, 99] {
                    let value = Table.percentile(percent, of: values)
                    add("\(what) p\(percent)", value, .milliseconds)
                }
            }
            for (kind, what, rows) in [
                (MeasuredDatabase.Kind.claim, "claim", queue.claimed),
                (.submit, "submit", queue.submitted),
            ] {
                let cost = try await queue.database.cost(of: kind)
                let count = Double(max(1, rows))
                add("buffers a row, \(what)", Double(cost.buffers) / count, .count)
                add(
                    "PostgreSQL's time a row, \(what)",
                    cost.milliseconds * 1000 / count,
                    .microseconds
                )
                add("PostgreSQL's time of the fastest, \(what)", cost.fastest, .milliseconds)
                table.add(
                    name("buffers a row not in memory, \(what)", queue.size),
                    Double(cost.reads) / count,
                    in: .count
                )
            }
        }
    }

    /// Submits, claims and completes tasks, so that the same number waits afterwards as before.
    private func work(
        _ queue: inout Queue,
        _ round: Int,
        _ spread: MeasuredDatabase.Spread,
        _ view: View
    ) async throws {
        let database = queue.database
        let full = MeasuredDatabase.Spread.fullHost
        let isSpread = spread == .many || view == .besideFull
        // For a single host: the position at which that host is examined first.
        let first = spread == .many ? HostKey(rawValue: .min) : HostKey(rawValue: full.rawValue - 1)
        let perHost = isSpread ? Self.perHost : Self.claimed
        let tasks = database.submissions(SubmitRequest.tasksMax) { index in
            isSpread ? HostKey(rawValue: Int64(index % MeasuredDatabase.Spread.hostKeys)) : full
        }
        let identifier = queue.identifiers[round % queue.identifiers.count]
        queue.submits.append(
            try await milliseconds { try await database.submit(tasks, to: identifier) }
        )
        queue.submitted += tasks.count
        for _ in 0..<SubmitRequest.tasksMax / Self.claimed {
            let position = isSpread ? max(queue.position.rawValue, first.rawValue) : first.rawValue
            var claims: [TaskClaim] = []
            let time = try await milliseconds {
                claims = try await database.claim(
                    Self.claimed,
                    by: queue.worker,
                    perHost: perHost,
                    after: HostKey(rawValue: position),
                    busy: view == .besideFull ? [full: perHost] : [:]
                )
            }
            let hostKeys = Set(claims.map(\.hostKey.rawValue))
            // Continue behind the last host, or from the first again.
            queue.position =
                claims.count == Self.claimed
                ? HostKey(rawValue: hostKeys.max() ?? first.rawValue) : first
            guard !claims.isEmpty else { continue }
            queue.claims.append(time)
            queue.claimed += claims.count
            _ = try await database.complete(claims)
        }
    }

    private func milliseconds(_ body: () async throws -> Void) async rethrows -> Double {
        let start = ContinuousClock.now
        try await body()
        return (ContinuousClock.now - start) / .milliseconds(1)
    }
}
