import Foundation
import TransferModel
import TransferWire

/// The number of tasks a second that the API, and the store beneath it, take durably, while no
/// worker is there to run them.
struct SubmitRate {
    let program: String
    let folder: Folder
    let pgqueuer: Pgqueuer

    static let name = "submit"

    /// The number of requests with one task each: as many as its peer has inserts, because what
    /// connections cost once weighs more in a short run.
    private static let requests = Pgbench.insertCount
    private static let connections = 64
    /// The number of requests with a thousand tasks each.
    private static let batches = 100
    /// The numbers of simultaneous requests to measure.
    private static let callers = [1, 4]

    func measure(into table: inout Table) async throws {
        try await MeasuredDatabase.with(program: program, folder: folder) { database in
            let service = try await Service(
                program: program,
                database: database,
                roles: "api",
                parallel: Self.connections
            )
            defer { service.stop() }
            try await measureSingles(service, database, &table)
            try await measureBatches(service, database, &table)
        }
    }

    private func measureSingles(
        _ service: Service,
        _ database: MeasuredDatabase,
        _ table: inout Table
    ) async throws {
        let inserts = "inserts of one row, 32 clients, pgbench"
        if Program.exists("pgbench") {
            let rate = try Pgbench.rate(database, folder: folder)
            table.add(inserts, rate, in: .perSecond)
        } else {
            print("pgbench is left out: it is not installed.")
        }
        for sessions in [1, Self.connections] {
            let name =
                "submit, 1 task a request, \(Self.connections) connections, "
                + "\(sessions) session\(sessions == 1 ? "" : "s"), transferd"
            let rate = try await rate(
                service,
                requests: Self.requests,
                tasks: 1,
                connections: Self.connections,
                sessions: sessions
            )
            table.add(name, rate, in: .perSecond)
            table.compare(name, to: inserts)
        }
    }

    private func measureBatches(
        _ service: Service,
        _ database: MeasuredDatabase,
        _ table: inout Table
    ) async throws {
        for callers in Self.callers {
            let name = "submit, \(SubmitRequest.tasksMax) a request, \(callers) at once, transferd"
            let peer = "enqueue, \(SubmitRequest.tasksMax) a call, \(callers) at once, pgqueuer"
            let rate = try await rate(
                service,
                requests: Self.batches,
                tasks: SubmitRequest.tasksMax,
                connections: callers,
                sessions: callers
            )
            table.add(name, rate, in: .perSecond)
            let store =
                "submit, \(SubmitRequest.tasksMax) a call, \(callers) at once, transferd's store"
            table.add(store, try await storeRate(database, callers: callers), in: .perSecond)
            guard pgqueuer.isInstalled() else { continue }
            let rates = try pgqueuer.rates(database, callers: callers)
            table.add(peer, rates.enqueued, in: .perSecond)
            table.compare(name, to: peer)
            table.compare(store, to: peer)
        }
    }

    /// Measures the rate of the store alone, over `callers` connections, each with a session of its
    /// own and one call at a time.
    ///
    /// - Returns: tasks a second.
    private func storeRate(_ database: MeasuredDatabase, callers: Int) async throws -> Double {
        let calls = Self.batches / callers
        var queues: [(identifier: String, batches: [[TaskSubmission]])] = []
        for _ in 0..<callers {
            let identifier = UUID().uuidString
            _ = try await database.putSession(identifier)
            let batches = (0..<calls).map { _ in
                database.submissions(SubmitRequest.tasksMax) { _ in HostKey(rawValue: 0) }
            }
            queues.append((identifier, batches))
        }
        sync()
        let start = ContinuousClock.now
        try await withThrowingTaskGroup { group in
            for queue in queues {
                group.addTask {
                    for tasks in queue.batches {
                        try await database.submit(tasks, to: queue.identifier)
                    }
                }
            }
            try await group.waitForAll()
        }
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        return Double(calls * callers * SubmitRequest.tasksMax) / seconds
    }

    /// Measures the rate of submission.
    ///
    /// - Returns: tasks a second.
    private func rate(
        _ service: Service,
        requests: Int,
        tasks: Int,
        connections: Int,
        sessions: Int
    ) async throws -> Double {
        var paths: [String] = []
        for _ in 0..<sessions {
            paths.append(APIPath.tasks(ofSession: try await service.session()))
        }
        let bodies = (0..<requests).map { request in
            let urls = (0..<tasks).map { #"{"url":"http://127.0.0.1:9/small/\#($0)"}"# }
            return HTTPLoad.post(
                paths[request % sessions],
                to: service.base,
                key: service.key,
                json: tasks == 1 ? urls[0] : "[\(urls.joined(separator: ","))]"
            )
        }
        sync()
        let seconds = try await HTTPLoad(base: service.base, connections: connections).send(bodies)
        return Double(requests * tasks) / seconds
    }
}
