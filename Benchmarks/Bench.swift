import ArgumentParser
import Foundation
import Glibc
import TransferWire

/// `transferd-bench measure`: transferd beside its peers, on this machine, in one run.
///
/// Absolute figures say little on a shared machine; the ratios within one run do.
struct Bench: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "measure",
        abstract: "Measure the service beside its peers.",
        discussion: """
            Parts, for --only: "at rest", "submit", "claim and complete", "backlog", \
            "quiet tenant", "page", "cost of a task", "guard", "snapshot", "delayed", "instances", \
            and each contender of the last part by its name, such as "16 KiB".

            All of it takes about half an hour. A backlog of 10,000,000 takes 20 minutes and \
            10 GB by itself, and five million delayed tasks two minutes.
            """
    )

    @Option(help: "The built service.")
    var transferd: String

    @Option(help: "Small files a round.")
    var files = 20_000

    @Option(help: "Rounds; the medians of them are told.")
    var rounds = 3

    @Option(help: "Transfers at once, for all contenders.")
    var parallel = 64

    @Option(help: "Bytes of the large file.")
    var largeBytes = 1 << 30

    @Option(help: "Bytes of the file behind a narrow line.")
    var middleBytes = 128 << 20

    @Option(help: "Bytes a second of each connection on that line.")
    var narrowRate: Int64 = 8_000_000

    @Option(help: "Only the parts and contenders whose name holds this.")
    var only = ""

    @Option(help: "Where files go; a file system that can be flushed, so not tmpfs.")
    var folder = "/tmp"

    @Option(help: "Webhooks a round, delivered beside a receiver that never answers.")
    var webhooks = 20_000

    @Option(help: "Downloads one by one whose webhooks are timed; 0 for none.")
    var downloads = 300

    @Option(help: "Subscriptions without events beside which those are timed again; 0 for none.")
    var subscriptions = 10_000

    @Option(help: "Slow transfers at once, whose memory is told first; 0 for none.")
    var slow = 0

    @Option(help: "Tasks that wait while claims and submits are timed, from 100,000; 0 for none.")
    var backlog = 1_000_000

    @Option(help: "Seconds for which a snapshot is held; 0 for none.")
    var snapshot = 60

    @Option(help: "Tasks whose time has not come, beside which files are downloaded; 0 for none.")
    var delayed = 0

    @Option(help: "Workers at most on one database; 0 for none.")
    var instances = 4

    @Option(help: "A Python that has pgqueuer and procrastinate.")
    var pgqueuerPython = Bench.pgqueuerPythonDefault

    @Option(help: "A Python that has selenium.")
    var browserPython = Bench.browserPythonDefault

    /// The path of the Python that `.ci/setup --bench` makes.
    static var pgqueuerPythonDefault: String { python(of: "transferd-bench") }

    /// The path of the Python that `.ci/setup --test` makes.
    static var browserPythonDefault: String { python(of: "transferd-test") }

    private static func python(of folder: String) -> String {
        let environment = ProcessInfo.processInfo.environment
        let caches = environment["XDG_CACHE_HOME"] ?? "\(environment["HOME"] ?? "/root")/.cache"
        return "\(caches)/\(folder)/bin/python"
    }

    @Flag(help: "Measure the service alone, for work on it.")
    var alone = false

    func validate() throws {
        guard webhooks >= SubmitRequest.tasksMax, webhooks % SubmitRequest.tasksMax == 0 else {
            throw ValidationError(
                "--webhooks is a multiple of \(SubmitRequest.tasksMax), from it on."
            )
        }
        guard slow >= 0, slow % SubmitRequest.tasksMax == 0 else {
            throw ValidationError("--slow is a multiple of \(SubmitRequest.tasksMax), or 0.")
        }
        guard downloads >= 0, subscriptions >= 0 else {
            throw ValidationError("--downloads and --subscriptions are counts, from 0 on.")
        }
        guard files > 0, files % SubmitRequest.tasksMax == 0, rounds > 0 else {
            throw ValidationError("--files is a multiple of \(SubmitRequest.tasksMax), from it on.")
        }
        guard backlog >= 0, backlog % Backlog.perSession == 0 else {
            throw ValidationError("--backlog is a multiple of \(Backlog.perSession), or 0.")
        }
        guard snapshot >= 0, delayed >= 0, instances >= 0 else {
            throw ValidationError("--snapshot, --delayed and --instances are from 0 on.")
        }
    }

    /// Returns whether a part or contender is wanted.
    private func isWanted(_ name: String) -> Bool { only.isEmpty || name.contains(only) }

    func run() async throws {
        let folder = try Folder(in: folder)
        defer { folder.remove() }
        let origin = try await Origin(
            folder: folder,
            largeBytes: largeBytes,
            middleBytes: middleBytes,
            narrowRate: narrowRate
        )
        defer { origin.stop() }
        if slow > 0 {
            try await SlowTransfers(
                program: transferd,
                folder: folder,
                origin: origin,
                count: slow
            ).measure()
        }
        var table = Table()
        if downloads > 0, isWanted("at rest") {
            try await AtRest(
                program: transferd,
                folder: folder,
                downloads: downloads,
                subscriptions: subscriptions
            ).measure(into: &table)
        }
        for _ in 1...rounds where isWanted(QuietTenant.name) {
            try await QuietTenant(program: transferd, folder: folder, origin: origin)
                .measure(into: &table)
        }
        if !alone { try await measureQueue(folder, into: &table) }
        try await measureRounds(folder, origin, into: &table)
        try await Contest(
            program: transferd,
            folder: folder,
            origin: origin,
            files: files,
            webhooks: webhooks,
            rounds: rounds,
            parallel: parallel,
            isWanted: { isWanted($0) && (!alone || $0.hasSuffix("transferd")) }
        ).measure(into: &table)
        table.print()
    }

    /// Measures the queue by itself, without transfers.
    private func measureQueue(_ folder: Folder, into table: inout Table) async throws {
        let pgqueuer = Pgqueuer(python: pgqueuerPython)
        for _ in 1...rounds where isWanted(SubmitRate.name) {
            try await SubmitRate(program: transferd, folder: folder, pgqueuer: pgqueuer)
                .measure(into: &table)
        }
        for _ in 1...rounds where isWanted(ClaimRate.name) {
            try await ClaimRate(program: transferd, folder: folder, pgqueuer: pgqueuer)
                .measure(into: &table)
        }
        if isWanted(Launches.name) {
            try await Launches(
                program: transferd,
                folder: folder,
                pgqueuer: pgqueuer,
                pending: backlog
            ).measure(into: &table)
        }
        if backlog > 0, isWanted(Backlog.name) {
            try await Backlog(program: transferd, folder: folder, size: backlog)
                .measure(into: &table)
        }
    }

    /// Measures rounds of small files in circumstances that burden the queue.
    private func measureRounds(
        _ folder: Folder,
        _ origin: Origin,
        into table: inout Table
    ) async throws {
        if isWanted(WatchedSession.name) {
            try await WatchedSession(
                program: transferd,
                folder: folder,
                origin: origin,
                files: files,
                parallel: parallel,
                rounds: rounds,
                python: browserPython
            ).measure(into: &table)
        }
        if isWanted(TaskCost.name) {
            try await TaskCost(
                program: transferd,
                folder: folder,
                origin: origin,
                files: files,
                parallel: parallel
            ).measure(into: &table)
        }
        for _ in 1...rounds where isWanted(GuardCost.name) {
            try await GuardCost(
                program: transferd,
                folder: folder,
                origin: origin,
                files: files,
                parallel: parallel
            ).measure(into: &table)
        }
        if snapshot > 0, isWanted(HeldSnapshot.name) {
            try await HeldSnapshot(
                program: transferd,
                folder: folder,
                origin: origin,
                files: files,
                parallel: parallel,
                duration: .seconds(snapshot)
            ).measure(into: &table)
        }
        if delayed > 0, isWanted(DelayedTasks.name) {
            try await DelayedTasks(
                program: transferd,
                folder: folder,
                origin: origin,
                files: files,
                parallel: parallel,
                rounds: rounds,
                count: delayed
            ).measure(into: &table)
        }
        if instances > 0, isWanted(Fleet.name) {
            try await Fleet(
                program: transferd,
                folder: folder,
                origin: origin,
                files: files,
                parallel: parallel,
                workersMax: instances
            ).measure(into: &table)
        }
    }
}
