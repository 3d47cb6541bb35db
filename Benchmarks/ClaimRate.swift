import Foundation
import TransferModel
import TransferStore
import TransferWire

/// The number of tasks a second that the store gives to workers and takes back ended, with their
/// events, when nothing is transferred.
struct ClaimRate {
    let program: String
    let folder: Folder
    let pgqueuer: Pgqueuer

    static let name = "claim and complete"

    private static let tasks = 40_000
    /// The number of tasks in one call; the engine claims up to 256 and ends up to 500 at once.
    private static let batch = 250
    private static let claimsAtOnce = 2
    /// The number of tasks in a call that ends them.
    private static let endsAtOnce = batch * claimsAtOnce
    /// The time from one call that ends fewer to the next.
    private static let endInterval: Duration = .milliseconds(20)

    /// The way in which a task ends.
    enum Path: String, CaseIterable {
        /// Completed at once, with two events.
        case download
        /// Renamed and then completed, with two events.
        case namedDownload = "download with a destination"
        /// Completed at once, with one event.
        case upload
    }

    /// The order of the calls.
    private enum Order: String, CaseIterable {
        /// One after the other.
        case inTurn = "in turn"
        /// As in the engine: one loop claims tasks and another ends them, without waiting for each
        /// other; a transaction begins the renames of claimed tasks and completes renamed ones.
        case overlapped

        /// The number of connections of a comparable peer.
        var callers: Int { self == .inTurn ? 1 : 2 }
    }

    func measure(into table: inout Table) async throws {
        try await MeasuredDatabase.with(program: program, folder: folder) { database in
            for order in Order.allCases { try await measure(order, database, &table) }
        }
    }

    private func measure(
        _ order: Order,
        _ database: MeasuredDatabase,
        _ table: inout Table
    ) async throws {
        let peer = "dequeue and complete, \(order.callers) at once, pgqueuer"
        if pgqueuer.isInstalled() {
            let rates = try pgqueuer.rates(database, callers: order.callers)
            table.add(peer, rates.completed, in: .perSecond)
        }
        for path in Path.allCases {
            let name = "\(Self.name), \(path.rawValue), \(order.rawValue), transferd's store"
            let identifier = UUID().uuidString
            _ = try await database.putSession(identifier)
            for _ in 0..<Self.tasks / SubmitRequest.tasksMax {
                let tasks = database.submissions(SubmitRequest.tasksMax, path) { _ in
                    HostKey(rawValue: 0)
                }
                try await database.submit(tasks, to: identifier)
            }
            sync()
            let worker = try await database.worker()
            let start = ContinuousClock.now
            let count =
                try await order == .inTurn
                ? drainInTurn(database, worker, path) : drain(database, worker, path)
            let seconds = (ContinuousClock.now - start) / .seconds(1)
            guard count == Self.tasks else {
                throw Program.Failure(description: "\(count) of \(Self.tasks) tasks have ended")
            }
            table.add(name, Double(count) / seconds, in: .perSecond)
            table.compare(name, to: peer)
        }
    }

    /// Claims and ends tasks until there are none.
    private func drainInTurn(
        _ database: MeasuredDatabase,
        _ worker: WorkerIdentity,
        _ path: Path
    ) async throws -> Int {
        var count = 0
        while true {
            let claims = try await claim(database, worker)
            guard !claims.isEmpty else { return count }
            switch path {
            case .download: count += try await database.complete(claims)
            case .namedDownload:
                let renamed = try await database.beginRenames(claims).begun
                count += try await database.beginRenames([], ending: renamed).ended
            case .upload: count += try await database.answer(claims)
            }
        }
    }

    /// Claims tasks in one loop and ends them in another.
    private func drain(
        _ database: MeasuredDatabase,
        _ worker: WorkerIdentity,
        _ path: Path
    ) async throws -> Int {
        let handover = ClaimHandover()
        async let claiming: Void = claimAll(database, worker, handover)
        var count = 0
        var renamed: [TaskClaim] = []
        while true {
            let rest = (Self.endsAtOnce - renamed.count) / Self.batch
            // Renamed tasks do not wait for others.
            let claims =
                renamed.isEmpty
                ? await handover.next(limit: rest) : handover.takeNext(limit: rest)
            let claimed = claims.joined()
            let steps = claimed.count + renamed.count
            guard steps > 0 else { break }
            let begin = ContinuousClock.now
            let ended: Int
            switch path {
            case .download: ended = try await database.complete(claimed)
            case .namedDownload:
                let turn = try await database.beginRenames(claimed, ending: renamed)
                renamed = turn.begun
                ended = turn.ended
            case .upload: ended = try await database.answer(claimed)
            }
            handover.ended(ended)
            count += ended
            // As the engine, which gathers the ends of a busy time.
            if steps < Self.endsAtOnce {
                try await Task.sleep(until: begin + Self.endInterval)
            }
        }
        try await claiming
        return count
    }

    /// Claims tasks until there are none.
    private func claimAll(
        _ database: MeasuredDatabase,
        _ worker: WorkerIdentity,
        _ handover: ClaimHandover
    ) async throws {
        defer { handover.close() }
        while true {
            try await handover.waitForRoom()
            let claim = try await database.claim(Self.batch, by: worker)
            if claim.isEmpty { return }
            handover.add(claim)
        }
    }

    private func claim(_ database: MeasuredDatabase, _ worker: WorkerIdentity) async throws
        -> [TaskClaim]
    {
        var claims: [TaskClaim] = []
        for _ in 0..<Self.claimsAtOnce {
            claims += try await database.claim(Self.batch, by: worker)
        }
        return claims
    }
}
