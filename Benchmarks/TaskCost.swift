import Foundation
import TransferWire

/// The cost of a small file for PostgreSQL: bytes of its log and transactions.
struct TaskCost {
    let program: String
    let folder: Folder
    let origin: Origin
    let files: Int
    let parallel: Int

    static let name = "cost of a task"

    /// The time after which every connection has reported its work to the server's statistics; an
    /// idle connection does so every ten seconds.
    private static let settling: Duration = .seconds(11)

    func measure(into table: inout Table) async throws {
        try await MeasuredDatabase.with(program: program, folder: folder) { database in
            let service = try await Service(
                program: program,
                database: database,
                parallel: parallel
            )
            defer { service.stop() }
            // Work that only the very first downloads cause is not a cost of each.
            _ = try await service.download(origin.smallURLs(count: SubmitRequest.tasksMax))
            try await Task.sleep(for: Self.settling)
            let before = try await database.effort()
            try await Task.sleep(for: Self.settling)
            let idle = try await database.effort()
            _ = try await service.download(origin.smallURLs(count: files))
            try await Task.sleep(for: Self.settling)
            let after = try await database.effort()
            // The work of an equally long time without tasks, while the service looks for some,
            // does not count.
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
