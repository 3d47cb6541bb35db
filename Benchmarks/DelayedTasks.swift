import Foundation
import TransferWire

/// Downloads beside many tasks whose start time has not come.
struct DelayedTasks {
    let program: String
    let folder: Folder
    let origin: Origin
    let files: Int
    let parallel: Int
    let rounds: Int
    /// The number of waiting tasks.
    let count: Int

    static let name = "delayed"

    func measure(into table: inout Table) async throws {
        try await MeasuredDatabase.with(program: program, folder: folder) { database in
            let service = try await Service(
                program: program,
                database: database,
                parallel: parallel
            )
            defer { service.stop() }
            let alone = "\(files) x 16 KiB, nothing delayed"
            let beside = "\(files) x 16 KiB, \(count) tasks delayed"
            // Work that only the very first downloads cause is not a cost of the others.
            _ = try await service.download(origin.smallURLs(count: SubmitRequest.tasksMax))
            let urls = origin.smallURLs(count: files)
            for _ in 0..<rounds { table.add(alone, try await service.download(urls), for: files) }
            let session = try await database.putSession(Self.name)
            try await database.makeDelayed(count, in: session)
            try await database.settle()
            for _ in 0..<rounds { table.add(beside, try await service.download(urls), for: files) }
            table.compare(beside, to: alone)
        }
    }
}
