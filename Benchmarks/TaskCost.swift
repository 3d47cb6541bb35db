import Foundation

/// What a small file costs PostgreSQL: bytes of its log and transactions.
struct TaskCost {
    let program: String
    let folder: Folder
    let origin: Origin
    let files: Int
    let parallel: Int

    static let name = "cost of a task"

    /// After which every connection has told the server's statistics what it did; it does so every
    /// ten seconds when idle.
    private static let settling: Duration = .seconds(11)

    func measure(into table: inout Table) async throws {
        try await MeasuredDatabase.with(program: program, folder: folder) { database in
            let service = try await Service(
                program: program,
                database: database,
                parallel: parallel
            )
            defer { service.stop() }
            // What only the first of all does is not a cost of each.
            _ = try await service.download(origin.smallURLs(count: Submission.batchMax))
            try await Task.sleep(for: Self.settling)
            let before = try await database.effort()
            try await Task.sleep(for: Self.settling)
            let idle = try await database.effort()
            _ = try await service.download(origin.smallURLs(count: files))
            try await Task.sleep(for: Self.settling)
            let after = try await database.effort()
            // The same time without work, while the service looks for some, does not count.
            let work = (after - idle) - (idle - before)
            table.add(
                "bytes of WAL a task, \(files) x 16 KiB",
                Double(work.walBytes) / Double(files),
                in: .bytes
            )
            table.add(
                "commits a task, \(files) x 16 KiB",
                Double(work.commits) / Double(files),
                in: .count
            )
        }
    }
}
