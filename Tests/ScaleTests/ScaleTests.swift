import Foundation
import Logging
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

/// Every verb of the store on a full database: it reads as much as it returns.
///
/// `make scale` runs it with a million tasks.
@Suite(.postgresDatabase, .timeLimit(.minutes(15))) struct ScaleTests {
    private static let tasks =
        ProcessInfo.processInfo.environment["TRANSFERD_SCALE_TASKS"].flatMap { Int($0) } ?? 20_000
    /// The maximum time of a verb in the full run, beside the pages.
    private static let timeMax: Duration? = tasks < 1_000_000 ? nil : .seconds(1)
    /// The factor for the full run: its indexes are a level higher, and rows of undone measurements
    /// are in the way.
    private static let pagesFactor: Int64 = tasks < 1_000_000 ? 1 : 2
    /// The number of tasks in the database for which the plans are made.
    private static let tasksWhenPlanned = 1000

    /// What the tables hold when plans are made for them.
    enum Filling: CaseIterable {
        /// Little, with the statistics of one row in each: they were last taken when work began.
        case oneRow
        /// Little, without statistics, as in a new installation.
        case few
        /// The actual content.
        case all

        /// Those of a run; by plans for one row, it takes too long to make the rows of the full
        /// one.
        static let ofRun = tasks < 1_000_000 ? allCases : [few, all]
    }

    @Test(arguments: Filling.ofRun)
    func verbsReadWhatTheyReturn(plannedFor filling: Filling) async throws {
        let connection = try await ScaleWorld.connection()
        let folder = Checkout.migrations
        let logger = Logger(label: "scale") { _ in SwiftLogNoOpLogHandler() }
        try await Migrator(folder: folder, logger: logger).migrate(connection)
        let meter = PageMeter()
        let stores = Stores(Database(pool: TestDatabase.current.pool()))
        let tenant = try await stores.keys.createAPIKey(
            NewAPIKey(
                id: "scale",
                secretSHA256: Array(repeating: 0, count: 32),
                name: "scale"
            ),
            tenantName: "scale"
        )
        let worker = WorkerIdentity(
            incarnation: try await stores.workers.registerWorker(name: "scale")
        )
        try await meter.holdStatistics()
        func world(_ tasks: Int, withOwners hasOwners: Bool = true) async throws -> ScaleWorld {
            try await ScaleWorld(
                tasks: tasks,
                withOwners: hasOwners,
                of: tenant,
                worker: worker,
                in: stores,
                by: connection
            )
        }
        if filling != .all {
            // Nobody has owned a task yet: by statistics of none, every index is as good.
            if filling == .oneRow {
                try await world(Self.tasksWhenPlanned, withOwners: false)
                    .keepOneRow(by: connection)
            }
            let small = try await world(Self.tasksWhenPlanned, withOwners: false)
            for verb in StoreVerb.all { _ = try await measure(verb, meter, small) }
        }
        let world = try await world(Self.tasks)
        if filling == .all { try await connection.executeScript("ANALYZE") }
        for verb in StoreVerb.all {
            let use = try await measure(verb, meter, world)
            let pagesMax =
                Self.pagesFactor * (verb.pages + StoreVerb.pagesOfItem * Int64(use.items))
            #expect(use.pages <= pagesMax, "\(verb.name): \(use.most)")
            if let timeMax = Self.timeMax { #expect(use.time <= timeMax, "\(verb.name)") }
        }
    }

    private struct Use {
        let items: Int
        let pagesOfRelations: [String: Int64]
        let time: Duration

        var pages: Int64 { pagesOfRelations.values.reduce(0, +) }
        /// The tables and indexes with the most pages read.
        var most: [(key: String, value: Int64)] {
            Array(pagesOfRelations.sorted { $0.value > $1.value }.prefix(4))
        }
    }

    private func measure(
        _ verb: StoreVerb,
        _ meter: PageMeter,
        _ world: ScaleWorld
    ) async throws -> Use {
        var items = 0
        var time = Duration.zero
        let pages = try await meter.pagesOfRelations { stores in
            time = try await ContinuousClock().measure {
                items = try await verb.perform(stores, world)
            }
        }
        let use = Use(items: items, pagesOfRelations: pages, time: time)
        try report(verb, use)
        return use
    }

    /// Adds a line to the file that `TRANSFERD_SCALE_REPORT` names.
    ///
    /// It holds the verb, the number of returned rows, the pages read, the duration, and where most
    /// of the pages were.
    private func report(_ verb: StoreVerb, _ use: Use) throws {
        let variable = "TRANSFERD_SCALE_REPORT"
        guard let path = ProcessInfo.processInfo.environment[variable] else { return }
        let file = try FileHandle(forWritingTo: URL(filePath: path))
        try file.seekToEnd()
        let line = "\(verb.name)\t\(use.items)\t\(use.pages)\t\(use.time)\t\(use.most)\n"
        try file.write(contentsOf: Data(line.utf8))
        try file.close()
    }
}
