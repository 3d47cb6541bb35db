import Foundation

/// Downloads while another connection holds a snapshot, so that no row that ends can be removed.
struct HeldSnapshot {
    let program: String
    let folder: Folder
    let origin: Origin
    let files: Int
    let parallel: Int
    /// How long it is held.
    let duration: Duration

    static let name = "snapshot"

    /// Rounds without it.
    private static let rounds = 3

    func measure(into table: inout Table) async throws {
        let database = try await Database(program: program, folder: folder)
        let service = try await Service(program: program, database: database, parallel: parallel)
        do {
            try await measure(service, database, &table)
        } catch {
            service.stop()
            await database.stop()
            throw error
        }
        service.stop()
        await database.stop()
    }

    private func measure(
        _ service: Service,
        _ database: Database,
        _ table: inout Table
    ) async throws {
        let urls = origin.smallURLs(count: files)
        var without: [Double] = []
        for _ in 0..<Self.rounds { without.append(try await service.download(urls)) }
        let holder = Task { try await database.holdSnapshot(for: duration) }
        var held: [Double] = []
        while try await database.heldSnapshots() == 0 {
            try await Task.sleep(for: .milliseconds(10))
        }
        while true {
            let seconds = try await service.download(urls)
            // A round in which the snapshot ended is none with it.
            guard try await database.heldSnapshots() > 0 else { break }
            print("  round \(held.count + 1) with a snapshot: \(Table.format(seconds)) s")
            held.append(seconds)
        }
        try await holder.value
        guard let last = held.last else {
            throw Program.Failure(description: "--snapshot is too short for \(files) files")
        }
        let alone = "\(files) x 16 KiB, no snapshot held"
        let median = "\(files) x 16 KiB, snapshot held, median of \(held.count) rounds"
        let worst = "\(files) x 16 KiB, snapshot held, last round"
        table.add(alone, Table.median(without), for: files)
        table.add(median, Table.median(held), for: files)
        table.add(worst, last, for: files)
        table.compare(median, to: alone)
        table.compare(worst, to: alone)
    }
}
