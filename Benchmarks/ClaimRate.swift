import Foundation
import TransferModel
import TransferStore

/// How many tasks a second the store gives to workers and takes back ended, with their events, when
/// nothing is transferred.
struct ClaimRate {
    let program: String
    let folder: Folder
    let pgqueuer: Pgqueuer

    static let name = "claim and complete"

    private static let tasks = 40_000
    /// As many as the engine claims at once.
    private static let batch = 256
    /// Workers, each with one call at a time; the engine claims while it ends.
    private static let callers = [1, 2]

    /// How a task ends.
    private enum Path: String, CaseIterable {
        /// Published and then completed, in two transactions and with two events.
        case download
        /// Completed at once.
        case upload
    }

    func measure(into table: inout Table) async throws {
        let database = try await Database(program: program, folder: folder)
        do {
            for callers in Self.callers {
                try await measure(callers, database, &table)
            }
        } catch {
            await database.stop()
            throw error
        }
        await database.stop()
    }

    private func measure(
        _ callers: Int,
        _ database: Database,
        _ table: inout Table
    ) async throws {
        let peer = "dequeue and complete, \(callers) at once, pgqueuer"
        if pgqueuer.isInstalled() {
            let rates = try pgqueuer.rates(database, callers: callers)
            table.add(peer, rates.completed, in: .perSecond)
        }
        for path in Path.allCases {
            let name = "\(Self.name), \(path)s, \(callers) at once, transferd's store"
            let identifier = UUID().uuidString
            _ = try await database.putSession(identifier)
            for _ in 0..<Self.tasks / Submission.batchMax {
                let tasks = database.submissions(Submission.batchMax, path == .upload) { _ in
                    Lane(key: 0)
                }
                try await database.submit(tasks, to: identifier)
            }
            sync()
            let start = ContinuousClock.now
            let count = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<callers {
                    group.addTask { try await drain(database, path) }
                }
                return try await group.reduce(0, +)
            }
            let seconds = (ContinuousClock.now - start) / .seconds(1)
            guard count == Self.tasks else {
                throw Program.Failure(description: "\(count) of \(Self.tasks) tasks have ended")
            }
            table.add(name, Double(count) / seconds, in: .perSecond)
            table.compare(name, to: peer)
        }
    }

    /// Claims and ends tasks until there are none.
    private func drain(_ database: Database, _ path: Path) async throws -> Int {
        let worker = try await database.worker()
        var count = 0
        while true {
            let claims = try await database.claim(Self.batch, by: worker)
            guard !claims.isEmpty else { return count }
            count +=
                try await path == .download
                ? database.complete(claims)
                : database.answer(claims)
        }
    }
}
