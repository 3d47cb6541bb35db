import Foundation

/// Downloads while another connection holds a snapshot, so that no ended row can be removed.
struct HeldSnapshot {
    let program: String
    let folder: Folder
    let origin: Origin
    let files: Int
    let parallel: Int
    /// The time for which the snapshot is held.
    let duration: Duration

    static let name = "snapshot"

    private struct Round {
        let seconds: Double
        /// The number of pages that the claims have examined, for each task.
        let buffers: Double
    }

    /// The number of rounds without the snapshot.
    private static let rounds = 3

    func measure(into table: inout Table) async throws {
        try await MeasuredDatabase.with(program: program, folder: folder) { database in
            let service = try await Service(
                program: program,
                database: database,
                parallel: parallel
            )
            defer { service.stop() }
            try await measure(service, database, &table)
        }
    }

    private func measure(
        _ service: Service,
        _ database: MeasuredDatabase,
        _ table: inout Table
    ) async throws {
        var without: [Round] = []
        for _ in 0..<Self.rounds { without.append(try await round(service, database)) }
        let holder = Task { try await database.holdSnapshot(for: duration) }
        while try await database.heldSnapshots() == 0 {
            try await Task.sleep(for: .milliseconds(10))
        }
        var held: [Round] = []
        while true {
            let round = try await round(service, database)
            // A round in which the snapshot ended does not count as a round with it.
            guard try await database.heldSnapshots() > 0 else { break }
            held.append(round)
            print(
                "  round \(held.count) with a snapshot: \(Table.format(round.seconds)) s, "
                    + "\(Table.format(round.buffers)) buffers a task to claim"
            )
        }
        try await holder.value
        guard let last = held.last else {
            throw Program.Failure(description: "--snapshot is too short for \(files) files")
        }
        let alone = "no snapshot held"
        let half = "snapshot held, median of \(held.count) rounds"
        let end = "snapshot held, last round"
        func seconds(_ what: String) -> String { "\(files) x 16 KiB, \(what)" }
        func buffers(_ what: String) -> String { "buffers a task to claim, \(what)" }
        table.add(seconds(alone), Table.median(without.map(\.seconds)), for: files)
        table.add(seconds(half), Table.median(held.map(\.seconds)), for: files)
        table.add(seconds(end), last.seconds, for: files)
        table.compare(seconds(half), to: seconds(alone))
        table.compare(seconds(end), to: seconds(alone))
        table.add(buffers(alone), Table.median(without.map(\.buffers)), in: .count)
        table.add(buffers(end), last.buffers, in: .count)
        table.compare(buffers(end), to: buffers(alone))
    }

    private func round(_ service: Service, _ database: MeasuredDatabase) async throws -> Round {
        try await database.forgetCosts()
        let seconds = try await service.download(origin.smallURLs(count: files))
        let cost = try await database.cost(of: .claim)
        return Round(seconds: seconds, buffers: Double(cost.buffers) / Double(files))
    }
}
