import Curl
import Foundation
import Glibc
import PollLoop
import Testing
import TransferContainer
import TransferModel
import TransferStore
import TransferTestSupport

@testable import TransferEngine

/// Shortages of this machine, which end no task.
@Suite(
    .postgresSchema,
    .timeLimit(.minutes(2)),
    .enabled("mounting a file system needs root") { geteuid() == 0 }
)
struct EngineShortageTests {
    private static let body = OriginBody.random(seed: 41, size: 5000)
    private static let taskCount = 20

    /// A separate file system, for the time of a test.
    private final class Mount: Sendable {
        /// The system's refusal to let root mount.
        struct NotMounted: Error {
            /// `errno`.
            let code: Int32
        }

        let folder: TestFolder

        init(_ options: String = "") throws {
            folder = try TestFolder("short")
            guard mount("tmpfs", folder.path, "tmpfs", 0, options) == 0 else {
                throw NotMounted(code: errno)
            }
        }

        deinit { umount2(folder.path, Int32(MNT_DETACH)) }

        /// Whether it can be made read-only: not while a file in it is open to be written.
        func becomesReadOnly() -> Bool {
            mount("tmpfs", folder.path, "tmpfs", UInt(MS_REMOUNT) | UInt(MS_RDONLY), nil) == 0
        }

        func setReadOnly(_ isReadOnly: Bool) {
            let flags = UInt(MS_REMOUNT) | (isReadOnly ? UInt(MS_RDONLY) : 0)
            #expect(mount("tmpfs", folder.path, "tmpfs", flags, nil) == 0)
        }
    }

    @Test func aContainerThatCannotBeWrittenIsWaitedFor() async throws {
        let mount = try Mount()
        defer { withExtendedLifetime(mount) {} }
        let fixture = try await EngineFixture(in: mount.folder)
        try fixture.place([1], at: "folder/old")
        fixture.origin.when("/file", .response(body: Self.body))
        mount.setReadOnly(true)
        var ids: [TaskID] = []
        for number in 0..<Self.taskCount {
            ids.append(
                try await fixture.submit(fixture.origin.url("/file")) {
                    guard number % 2 == 0 else { return }
                    $0.destination = Destination(path: "folder/\(number)", overwrite: false)
                }
            )
        }
        try await fixture.withEngine { [ids] engine in
            try await eventually("it is told") {
                engine.shortages.current == [.storageUnwritable]
            }
            try await eventually("the first of them wait, and say why") {
                try await Self.codes(of: ids, fixture) == [.storageUnwritable]
            }
            for id in ids { #expect(try await !fixture.task(id).state.isTerminal) }
            mount.setReadOnly(false)
            try await fixture.expectCompletion(ids)
            try await eventually("it is told that it is over") { engine.shortages.current.isEmpty }
        }
        for id in ids {
            let task = try await fixture.task(id)
            #expect(task.attempt == 1, "what the machine is short of counts against no task")
            #expect(try fixture.content(task) == Self.body.bytes)
        }
        try await fixture.expectNoParts()
    }

    /// Returns the codes with which the attempts of these tasks have failed.
    private static func codes(
        of ids: [TaskID],
        _ fixture: EngineFixture
    ) async throws -> Set<TransferFailure.Code> {
        var codes: Set<TransferFailure.Code> = []
        for id in ids {
            codes.formUnion(try await fixture.attempts(id).compactMap(\.failure?.code))
        }
        return codes
    }

    /// Returns a file that cannot have its name because nothing can be written, and the worker that
    /// has begun its rename.
    private static func stuckRename() async throws -> (
        Mount, EngineFixture, WorkerIdentity, OrphanedRename
    ) {
        let mount = try Mount()
        let fixture = try await EngineFixture(in: mount.folder)
        let worker = WorkerIdentity(
            incarnation: try await fixture.stores.workers.registerWorker(name: "renaming")
        )
        let orphan = try await OrphanedRename(fixture, by: worker, body, at: "folder/new")
        mount.setReadOnly(true)
        return (mount, fixture, worker, orphan)
    }

    /// The file is complete, but cannot have its name for a while.
    @Test func aPendingRenameIsWaitedFor() async throws {
        let (mount, fixture, _, orphan) = try await Self.stuckRename()
        defer { withExtendedLifetime(mount) {} }
        let task = try await fixture.withEngine {
            $0.heartbeatInterval = .milliseconds(50)
        } prepare: {
            try await fixture.loseWorkers(except: $0)
        } _: { engine in
            try await eventually("it is told") {
                engine.shortages.current == [.storageUnwritable]
            }
            #expect(try await fixture.task(orphan.claim.task).state == .running)
            mount.setReadOnly(false)
            return try await fixture.ended(orphan.claim.task)
        }
        #expect(task.state == .completed)
        #expect(fixture.origin.log.now.requests.isEmpty, "nothing is fetched again")
        #expect(try fixture.content("folder/new") == Self.body.bytes)
        try await fixture.expectNoParts()
    }

    private static func finder(
        _ fixture: EngineFixture,
        _ completer: AttemptCompleter,
        _ identity: WorkerIdentity,
        _ log: RecordingLog
    ) throws -> ForgottenAttemptFinder {
        let loops = try CurlLoops(name: "shortage", count: 1)
        return ForgottenAttemptFinder(
            workers: fixture.stores.workers,
            control: fixture.stores.control,
            identity: identity,
            active: ActiveAttempts(on: loops, connectionsMax: 1) {
                ConnectionSlots.Place(flow: $0.flow, perHost: 1, perFlow: 1)
            },
            completer: completer,
            unanswered: UnansweredClaims(),
            logger: log.logger
        )
    }

    /// Claims go on while they wait, for one folder may fail alone; nor are they forgotten.
    @Test func aPendingRenameThatWaitsIsNotBeingEnded() async throws {
        let (mount, fixture, identity, orphan) = try await Self.stuckRename()
        defer { withExtendedLifetime(mount) {} }
        let container = try Container(directory: fixture.directory)
        let shortages = Shortages()
        let log = RecordingLog()
        let completer = AttemptCompleter(
            loop: try PollLoop(name: "completer"),
            stores: EngineStores(fixture.stores.database),
            container: container,
            packs: Packs(container),
            shortages: shortages,
            logger: log.logger,
            onEnded: { _ in }
        )
        completer.submit(.pendingRename(orphan.pendingRename))
        let running = Task { await completer.run() }
        try await eventually("it waits") {
            completer.postponed.fences == [orphan.claim.fence] && completer.backlog == 0
        }
        #expect(shortages.current == [.storageUnwritable])
        #expect(log.lines.contains { $0.contains("files do not get their names") })
        #expect(completer.hasRoom)
        let finder = try Self.finder(fixture, completer, identity, log)
        var forgotten = ForgottenAttempts()
        var looks: Set<ContinuousClock.Instant> = []
        try await eventually("it was looked for") {
            try await finder.look(for: &forgotten)
            if let dueAt = forgotten.dueAt { looks.insert(dueAt) }
            return looks.count > 2
        }
        #expect(!log.lines.contains { $0.contains("finishing a pending rename") })
        mount.setReadOnly(false)
        try await eventually("it has its name") {
            try await fixture.task(orphan.claim.task).state == .completed
        }
        try await eventually("nothing waits") { completer.postponed.fences.isEmpty }
        #expect(shortages.current.isEmpty)
        running.cancel()
        await running.value
        #expect(log.lines.contains { $0.contains("no file waits for its name any more") })
        PostponedRenamesTests.fail(1...Int64(PostponedRenames.countMax), in: completer.postponed)
        #expect(!completer.hasRoom)
    }

    @Test func tooManyRenamesThatWaitHoldClaimsBack() async throws {
        let fixture = try await EngineFixture()
        let gates = [OriginGate(), OriginGate()]
        var running: [TaskID] = []
        for (number, gate) in gates.enumerated() {
            fixture.origin.when("/held/\(number)", .gated(Self.body, after: 1000, gate))
            running.append(try await fixture.submit(fixture.origin.url("/held/\(number)")))
        }
        fixture.origin.when("/file", .response(body: Self.body))
        try await fixture.withEngine { [running] engine in
            try await eventually("both run") { fixture.origin.log.now.requests.count == 2 }
            let postponed = engine.completer.postponed
            // None is due during the test.
            PostponedRenamesTests.fail(
                1...Int64(PostponedRenames.countMax),
                in: postponed,
                at: .now + .seconds(3600)
            )
            // By then a claim that had begun before is over.
            gates[0].open()
            try await fixture.expectCompletion([running[0]])
            let waiting = try await fixture.submit(fixture.origin.url("/file"))
            engine.wake()
            gates[1].open()
            try await fixture.expectCompletion([running[1]])
            #expect(try await fixture.task(waiting).state == .queued)
            postponed.tried([Fence(rawValue: 1)], failed: [])
            try await fixture.expectCompletion([waiting])
        }
        #expect(fixture.origin.log.now.requests(at: "/file").count == 1)
    }

    /// A worker that stops while the file cannot be named leaves the pending rename to the next
    /// one.
    @Test func aWorkerThatStopsWaitsForNoName() async throws {
        let (mount, fixture, _, orphan) = try await Self.stuckRename()
        defer { withExtendedLifetime(mount) {} }
        let change: (inout EngineConfiguration) -> Void = {
            $0.heartbeatInterval = .milliseconds(50)
        }
        try await fixture.withEngine(change, prepare: fixture.loseWorkers(except:)) { engine in
            try await eventually("it is told") {
                engine.shortages.current == [.storageUnwritable]
            }
        }
        #expect(try await fixture.task(orphan.claim.task).state == .running)
        mount.setReadOnly(false)
        let task = try await fixture.withEngine(change) { _ in
            try await fixture.ended(orphan.claim.task)
        }
        #expect(task.state == .completed)
        try await fixture.expectNoParts()
    }

    /// What cannot be opened for a while is neither dropped nor fetched again.
    @Test func aKeptPartIsWaitedFor() async throws {
        let mount = try Mount()
        defer { withExtendedLifetime(mount) {} }
        let fixture = try await EngineFixture(in: mount.folder)
        let body = OriginBody.random(seed: 42, size: 1_000_000)
        let cut = 600_000
        let gate = OriginGate()
        defer { gate.open() }
        fixture.origin.when("/file") { request in
            .file(
                body,
                etag: #""v1""#,
                for: request,
                pause: request.numberAtPath == 1 ? (after: cut, gate: gate) : nil
            )
        }
        let id = try await fixture.submit(fixture.origin.url("/file"))
        try await fixture.withEngine { _ in try await fixture.received(cut, of: id) }
        try await eventually("no file is open to be written") { mount.becomesReadOnly() }
        try await fixture.withEngine { _ in
            try await eventually("it waits, and says why") {
                try await Self.codes(of: [id], fixture).contains(.storageUnwritable)
            }
            #expect(try await fixture.task(id).bytesReceived == Int64(cut))
            mount.setReadOnly(false)
            try await fixture.expectCompletion([id])
        }
        let task = try await fixture.task(id)
        #expect(task.attempt == 1)
        #expect(try fixture.content(task) == body.bytes)
        let ranges = fixture.origin.log.now.requests(at: "/file").map { $0["Range"] }
        #expect(ranges == [nil, "bytes=\(cut)-"])
    }

    @Test func aFullFileSystemIsWaitedForAndLeftClean() async throws {
        let mount = try Mount("size=256k")
        defer { withExtendedLifetime(mount) {} }
        let fixture = try await EngineFixture(in: mount.folder)
        let big = OriginBody.random(seed: 1, size: 1_000_000)
        fixture.origin.when("/big", .response(body: big))
        fixture.origin.when("/file", .response(body: OriginBody.random(seed: 2, size: 100_000)))
        let full = try await fixture.submit(fixture.origin.url("/big"))
        try await fixture.withEngine { _ in
            try await eventually("it was tried more often than attempts are counted") {
                try await fixture.attempts(full).count > 6
            }
            // Space written in vain is free again.
            let fits = try await fixture.submit(fixture.origin.url("/file"))
            try await fixture.expectCompletion([fits])
        }
        let task = try await fixture.task(full)
        #expect(!task.state.isTerminal)
        #expect(try await fixture.attempts(full).allSatisfy { $0.number == 1 })
        #expect(try await fixture.attempts(full).first?.failure?.code == .storageFull)
        try await fixture.expectNoParts()
    }

    /// A pack that takes nothing more leaves nothing of what it did not take.
    @Test func smallResultsWaitForSpace() async throws {
        let mount = try Mount("size=1m")
        defer { withExtendedLifetime(mount) {} }
        let fixture = try await EngineFixture(in: mount.folder)
        fixture.origin.when("/file", .response(body: Self.body))
        let ballast = "\(mount.folder.path)/ballast"
        try await fixture.withEngine { engine in
            let first = try await fixture.submit(fixture.origin.url("/file"))
            try await fixture.expectCompletion([first])
            let file = open(ballast, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
            let piece = [UInt8](repeating: 0, count: 4096)
            while write(file, piece, piece.count) > 0 {}
            close(file)
            var ids: [TaskID] = []
            for _ in 0..<Self.taskCount {
                ids.append(try await fixture.submit(fixture.origin.url("/file")))
            }
            try await eventually("the first of them wait, and say why") { [ids] in
                try await Self.codes(of: ids, fixture) == [.storageFull]
            }
            #expect(unlink(ballast) == 0)
            try await fixture.expectCompletion(ids)
            for id in ids + [first] {
                let task = try await fixture.task(id)
                #expect(task.attempt == 1)
                #expect(try fixture.content(task) == Self.body.bytes)
            }
            try await eventually("nothing of nobody is left") {
                fixture.files().count == Self.taskCount + 1
            }
        }
        try await fixture.expectNoParts()
    }

    /// Its own time limit ends a task that never fits.
    @Test func aTaskThatNeverFitsFailsWhenItsTimeIsOver() async throws {
        let mount = try Mount("size=256k")
        defer { withExtendedLifetime(mount) {} }
        let fixture = try await EngineFixture(in: mount.folder)
        let task = try await fixture.download(
            .response(body: OriginBody.random(seed: 1, size: 1_000_000))
        ) {
            $0.options.timeoutForResource = .seconds(2)
        }
        #expect(task.state == .failed)
        #expect([.storageFull, .timedOut].contains(task.failure?.code))
        #expect(fixture.files().isEmpty)
    }

    /// A fault of one destination affects that task alone.
    @Test func aDestinationThatCannotBeWrittenFailsItsTaskAlone() async throws {
        let mount = try Mount()
        defer { withExtendedLifetime(mount) {} }
        let fixture = try await EngineFixture(in: mount.folder)
        try fixture.place([1], at: "locked/old")
        let locked = "\(fixture.container)/locked"
        // A separate read-only mount, within a container that is not read-only.
        guard Glibc.mount("tmpfs", locked, "tmpfs", UInt(MS_RDONLY), nil) == 0 else {
            try Test.cancel("this system does not let root mount: errno \(errno)")
        }
        defer { umount2(locked, Int32(MNT_DETACH)) }
        let task = try await fixture.download(.response(body: Self.body)) {
            $0.destination = Destination(path: "locked/new", overwrite: false)
        }
        #expect(task.failure?.code == .destinationNotWritable)
        #expect(try await fixture.download(.response(body: Self.body)).state == .completed)
    }
}
