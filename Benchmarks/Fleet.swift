import Foundation
import TransferWire

/// Several workers on one database: their combined rate, the connections that the origin sees, and
/// whether any task ends twice.
struct Fleet {
    let program: String
    let folder: Folder
    let origin: Origin
    let files: Int
    let parallel: Int
    /// The maximum number of workers; half as many and a single one are measured too.
    let workersMax: Int

    static let name = "instances"

    /// The number of connections to one host allowed to all workers together, in the part that
    /// measures those connections.
    private static let cap = 8
    /// The number of files that take two seconds each.
    private static let pacedFiles = 96

    func measure(into table: inout Table) async throws {
        let counts = Set([1, max(1, workersMax / 2), workersMax]).sorted()
        for count in counts {
            try await MeasuredDatabase.with(program: program, folder: folder) { database in
                try await measure(count, database, &table)
            }
        }
    }

    private func measure(
        _ count: Int,
        _ database: MeasuredDatabase,
        _ table: inout Table
    ) async throws {
        func name(_ count: Int) -> String { "\(files) x 16 KiB, workers: \(count)" }
        let api = try await Service(
            program: program,
            database: database,
            roles: "api,webhooks",
            parallel: parallel
        )
        defer { api.stop() }
        let seconds = try await withWorkers(count, database, perHost: parallel) {
            // Work that only the very first downloads cause is not a cost of the others.
            _ = try await api.download(origin.smallURLs(count: SubmitRequest.tasksMax))
            return try await api.download(origin.smallURLs(count: files))
        }
        table.add(name(count), seconds, for: files)
        if count > 1 { table.compare(name(count), to: name(1)) }
        let most = try await withWorkers(count, database, perHost: Self.cap) {
            try await mostAtOnce(api)
        }
        table.add(
            "most requests at once to one host, \(Self.cap) allowed, workers: \(count)",
            Double(most),
            in: .count
        )
        guard most <= Self.cap else {
            throw Program.Failure(
                description: "the origin saw \(most) requests at once, \(Self.cap) allowed"
            )
        }
        let ends = try await database.ends()
        let tasks = SubmitRequest.tasksMax + files + Self.pacedFiles
        guard ends.repeated == 0, ends.count == tasks else {
            throw Program.Failure(
                description: "\(ends.count) ends of \(tasks) tasks, "
                    + "\(ends.repeated) tasks ended more than once"
            )
        }
        print("  \(ends.count) tasks ended once each, workers: \(count)")
    }

    /// Returns the most simultaneous requests that the origin sees while files come slowly.
    private func mostAtOnce(_ api: Service) async throws -> Int {
        let watch = Task {
            var most = 0
            while !Task.isCancelled {
                do {
                    most = max(most, try await origin.requestsAtOnce())
                    // The origin's files take a hundred times as long as this pause.
                    try await Task.sleep(for: .milliseconds(20))
                } catch  where Task.isCancelled {
                    break
                }
            }
            return most
        }
        do {
            _ = try await api.download(origin.pacedURLs(count: Self.pacedFiles))
        } catch {
            watch.cancel()
            throw error
        }
        watch.cancel()
        return try await watch.value
    }

    private func withWorkers<Result>(
        _ count: Int,
        _ database: MeasuredDatabase,
        perHost: Int,
        _ body: () async throws -> Result
    ) async throws -> Result {
        var workers: [Service] = []
        defer { for worker in workers { worker.stop() } }
        for _ in 0..<count {
            workers.append(
                try await Service(
                    program: program,
                    database: database,
                    roles: "worker",
                    parallel: parallel,
                    perHost: perHost
                )
            )
        }
        return try await body()
    }
}
