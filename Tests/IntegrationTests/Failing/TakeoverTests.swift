import FaultProxy
import Foundation
import Glibc
import Synchronization
import Testing
import TransferClient
import TransferTestSupport
import TransferWire

/// The work that instances on one database do for each other when one of them ends or sleeps.
@Suite(.timeLimit(.minutes(5)), .serialized) struct TakeoverTests {
    private static let terminal: Set = ["task.completed", "task.failed", "task.cancelled"]
    private static let ends: Set = ["completed", "failed", "cancelled"]
    /// The time within which others continue: a lease, the time between two searches for dead
    /// workers, and some delay of a busy machine.
    private static let patience: Duration = .seconds(60)

    /// A session with downloads that an API instance has accepted.
    struct Work {
        let client: TransferService
        let ids: [String]
        /// The names of their files.
        let names: [String]
        let bodies: [OriginBody]
        let receiver: WebhookReceiver

        /// Checks that each task has one end and the right bytes, its session one end, the events
        /// no gap, and that the subscriber has all of them, for the first time in order.
        func check(_ directory: DataDirectory) async throws {
            try await eventually("all tasks have ended", within: patience) {
                // Nothing is answered while the database is away.
                (try? await client.events(of: "s"))?.last?.type == "session.events_finished"
            }
            for (id, body) in zip(ids, bodies) {
                let content = try await client.bytes(ofTask: id)
                #expect(OriginBody.sha256(of: content) == body.sha256)
            }
            let events = try await client.events(of: "s")
            let ends = events.filter { terminal.contains($0.type) }
            #expect(ends.compactMap { $0.data.task?.id }.sorted() == ids.sorted())
            #expect(events.count { $0.type == "session.events_finished" } == 1)
            #expect(events.map(\.data.sequence) == (1...Int64(events.count)).map { $0 })
            try await eventually("the subscriber has all", within: patience) {
                Set(receiver.received().map(\.id)).count == events.count
            }
            var newest: Int64 = 0
            for message in receiver.received() {
                let sequence = try message.event().sequence
                #expect(sequence <= newest + 1)
                newest = max(newest, sequence)
            }
            try await eventually("no part is left", within: patience) {
                try directory.holdsOnlyResults(names)
            }
        }
    }

    /// Submits downloads that stop at `kept` bytes until the gate opens, or each its own of
    /// `gates`; each further request gets the answer of `next`.
    func submit(
        _ count: Int,
        size: Int,
        kept: Int,
        _ origin: LoopbackOrigin,
        _ gate: OriginGate,
        gates: [OriginGate]? = nil,
        next: OriginGate? = nil,
        over client: TransferService
    ) async throws -> Work {
        let receiver = try WebhookReceiver()
        try await client.makeSession("s")
        _ = try await client.subscribe(SubscriptionRequest(url: receiver.open()))
        let bodies = (0..<count).map { OriginBody.random(seed: UInt64($0), size: size) }
        for (index, body) in bodies.enumerated() {
            let visits = Visits()
            origin.when("/\(index)") { request in
                let first = gates?[index] ?? gate
                let stop = visits.isFirst() ? first : next ?? first
                return .file(body, etag: "\"\(index)\"", for: request, pause: (kept, stop))
            }
        }
        let (ids, names) = try await client.submitNamingEveryOther(
            bodies.indices.map { origin.url("/\($0)") },
            to: "s"
        )
        return Work(client: client, ids: ids, names: names, bodies: bodies, receiver: receiver)
    }

    /// A counter that identifies the first of several visits.
    private final class Visits: Sendable {
        private let count = Mutex(0)

        func isFirst() -> Bool {
            count.withLock { count in
                count += 1
                return count == 1
            }
        }
    }

    private func progress(_ work: Work, _ bytes: Int) async throws {
        for id in work.ids {
            try await eventually("progress is told") {
                try await work.client.task(id)
                    .countOfBytesReceived == Int64(bytes)
            }
        }
    }

    @Test func anotherGoesOnWhereAKilledWorkerWas() async throws {
        let directory = try DataDirectory()
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        let gate = OriginGate()
        let front = try await ServiceProcess(in: directory, ["--roles", "api"])
        let first = try await ServiceProcess(in: directory, ["--roles", "worker,webhooks"])
        let client = try front.client(key: directory.apiKey())
        let work = try await submit(6, size: 4_000_000, kept: 3_000_000, origin, gate, over: client)
        try await progress(work, 3_000_000)
        let second = try await ServiceProcess(in: directory, ["--roles", "worker,webhooks"])
        #expect(await first.killNow() == 128 + SIGKILL)
        gate.open()
        try await work.check(directory)
        for (index, id) in work.ids.enumerated() {
            let requests = origin.log.now.requests(at: "/\(index)")
            #expect(requests.map { $0["Range"] } == [nil, "bytes=3000000-"])
            let attempts = try await client.attempts(ofTask: id)
            #expect(attempts.map(\.outcome) == ["lost", "completed"])
        }
        for service in [second, front] { #expect(await service.terminate() == 0) }
        #expect(try await directory.verify().status == 0)
    }

    @Test func aWorkerThatOnlySleptRenamesNothing() async throws {
        let directory = try DataDirectory()
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        let (gate, next) = (OriginGate(), OriginGate())
        let front = try await ServiceProcess(in: directory, ["--roles", "api"])
        let sleeper = try await ServiceProcess(in: directory, ["--roles", "worker,webhooks"])
        let client = try front.client(key: directory.apiKey())
        let work = try await submit(
            6,
            size: 400_000,
            kept: 300_000,
            origin,
            gate,
            next: next,
            over: client
        )
        try await progress(work, 300_000)
        sleeper.pause()
        let paused = ContinuousClock.now
        // Everything that it missed is waiting for it when it wakes.
        gate.open()
        let second = try await ServiceProcess(in: directory, ["--roles", "worker,webhooks"])
        for index in 0..<6 { await origin.log.arrived(2, at: "/\(index)") }
        try await eventually("three leases are over", within: Self.patience) {
            ContinuousClock.now - paused > .seconds(31)
        }
        sleeper.resume()
        // A new registration shows that it has noticed what happened, and its part files show that
        // it has ended its attempts.
        try await eventually("both workers live", within: Self.patience) {
            try await client.health().workers == 2
        }
        try await eventually("it has no part any more", within: Self.patience) {
            try directory.holdsOneFile(each: work.names)
        }
        #expect(!(try await client.events(of: "s").contains { Self.terminal.contains($0.type) }))
        next.open()
        try await work.check(directory)
        let files = try directory.files()
        for service in [sleeper, second, front] { #expect(await service.terminate() == 0) }
        #expect(try directory.files() == files)
        #expect(try await directory.verify().status == 0)
    }

    /// The cancellation is answered while the worker sleeps; when the worker wakes, it does not
    /// follow the answer that it finds.
    @Test func aSleeperBeginsNothingOfWhatWasCancelledMeanwhile() async throws {
        let directory = try DataDirectory()
        let origin = try LoopbackOrigin()
        let elsewhere = try LoopbackOrigin()
        defer {
            origin.stop()
            elsewhere.stop()
        }
        let gate = OriginGate()
        let moved = [("Location", elsewhere.url("/file")), ("Content-Length", "0")]
        origin.when("/moved", OriginScript([.wait(gate), .head(302, moved)]))
        for other in [origin, elsewhere] { other.when("/file", .response(body: .text("x"))) }
        let front = try await ServiceProcess(in: directory, ["--roles", "api"])
        let sleeper = try await ServiceProcess(in: directory, ["--roles", "worker"])
        let client = try front.client(key: directory.apiKey())
        try await client.makeSession("s")
        let id = try await client.submit([origin.url("/moved")], to: "s")[0]
        await origin.log.arrived(1, at: "/moved")
        sleeper.pause()
        let paused = ContinuousClock.now
        _ = try await client.control("cancel", task: id)
        gate.open()
        try await eventually("a lease is over", within: Self.patience) {
            ContinuousClock.now - paused > .seconds(11)
        }
        sleeper.resume()
        // It works again, and has noticed everything.
        let next = try await client.submit([origin.url("/file")], to: "s")[0]
        try await eventually("it works again", within: Self.patience) {
            try await client.task(next).state == "completed"
        }
        #expect(elsewhere.log.now.connectionsAccepted == 0)
        for service in [sleeper, front] { #expect(await service.terminate() == 0) }
    }

    /// The database is away for longer than a lease: each worker finds all others silent, and
    /// itself.
    @Test func healthyWorkersKeepWhatTheyHaveThroughALongOutage() async throws {
        let directory = try DataDirectory()
        let origins = try (0..<8).map { _ in try LoopbackOrigin() }
        defer { for origin in origins { origin.stop() } }
        let gate = OriginGate()
        for origin in origins {
            origin.when("/", OriginScript([.wait(gate), .head(200, [("Content-Length", "0")])]))
        }
        let front = try await ServiceProcess(in: directory, ["--roles", "api"])
        let logs = [try directory.log(), try directory.log()]
        var workers: [ServiceProcess] = []
        for log in logs {
            workers.append(
                try await ServiceProcess(in: directory, ["--roles", "worker"], log: log)
            )
        }
        let client = try front.client(key: directory.apiKey())
        try await client.makeSession("s")
        let ids = try await client.submit(
            origins.map { TaskRequest(target: .url($0.url("/")), method: "POST") },
            toSession: "s"
        ).map(\.id)
        for origin in origins { await origin.log.arrived(1) }
        try directory.signalDatabase(SIGSTOP)
        let paused = ContinuousClock.now
        try await eventually("more than a lease is over", within: Self.patience) {
            ContinuousClock.now - paused > .seconds(14)
        }
        try directory.signalDatabase(SIGCONT)
        let back = ContinuousClock.now
        try await eventually("each has looked for dead ones", within: Self.patience) {
            ContinuousClock.now - back > .seconds(6)
        }
        gate.open()
        for id in ids {
            try await eventually("the task has ended", within: Self.patience) {
                let task = try? await client.task(id)
                return task.map { Self.ends.contains($0.state) } ?? false
            }
            let task = try await client.task(id)
            #expect(task.state == "completed")
            #expect(task.attempt == 1)
        }
        for origin in origins { #expect(origin.log.now.requests.count == 1) }
        for log in logs {
            let text = try String(contentsOfFile: log, encoding: .utf8)
            #expect(!text.contains("declared dead"))
        }
        for service in workers + [front] { #expect(await service.terminate() == 0) }
    }

    @Test func aWorkerThatIsAskedToStopLeavesItsWorkToAnotherAtOnce() async throws {
        let directory = try DataDirectory()
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        let gate = OriginGate()
        // Only a signal can tell the second worker within the time of this test: it searches for
        // dead workers, and this one does not die.
        let options = ["--poll-interval", "3600"]
        let front = try await ServiceProcess(in: directory, ["--roles", "api"] + options)
        let workers = ["--roles", "worker,webhooks"] + options
        let first = try await ServiceProcess(in: directory, workers)
        let client = try front.client(key: directory.apiKey())
        let probe = HTTPClient(first, key: "none")
        let work = try await submit(4, size: 4_000_000, kept: 3_000_000, origin, gate, over: client)
        try await progress(work, 3_000_000)
        let second = try await ServiceProcess(in: directory, workers)
        let other = second.client(key: "none")
        try await eventually("the second hears others") {
            try await other.health().signals.status == "pass"
        }
        #expect(await probe.status("GET", "/readyz") == 200)
        #expect(await first.terminate() == 0)
        try await eventually("only the second is a worker") {
            try await client.health().workers == 1
        }
        gate.open()
        try await work.check(directory)
        for (index, id) in work.ids.enumerated() {
            let requests = origin.log.now.requests(at: "/\(index)")
            #expect(requests.map { $0["Range"] } == [nil, "bytes=3000000-"])
            let task = try await client.task(id)
            // The task was given back, and not lost.
            #expect(task.attempt == 1)
        }
        for service in [second, front] { #expect(await service.terminate() == 0) }
        #expect(try await directory.verify().status == 0)
    }

    @Test func aStoppingInstanceSaysSoUntilItHasEnded() async throws {
        let directory = try DataDirectory()
        let gate = OriginGate()
        let receiver = try WebhookReceiver()
        let front = try await ServiceProcess(in: directory, ["--roles", "api"])
        let hooks = try await ServiceProcess(in: directory, ["--roles", "webhooks"])
        let client = try front.client(key: directory.apiKey())
        let probe = HTTPClient(hooks, key: "none")
        try await client.makeSession("s")
        _ = try await client.subscribe(
            SubscriptionRequest(url: receiver.open(answers: [.hold(gate)]))
        )
        // Nobody runs the task; its creation is the event to deliver.
        _ = try await client.submit(["http://127.0.0.1:1/"], to: "s")
        _ = try await receiver.messages(1)
        try await eventually("the instance is ready") {
            await probe.status("GET", "/readyz") == 200
        }
        // It waits for the answer to the message that is on its way.
        async let status = hooks.terminate()
        try await eventually("it says that it is not ready") {
            await probe.status("GET", "/readyz") == 503
        }
        #expect(await probe.status("GET", "/livez") == 200)
        gate.open()
        #expect(await status == 0)
        #expect(await front.terminate() == 0)
    }

    @Test func bytesFlowOnWhenTheInstanceDiesThatTookTheTask() async throws {
        let directory = try DataDirectory()
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        let gate = OriginGate()
        let front = try await ServiceProcess(in: directory, ["--roles", "api"])
        let worker = try await ServiceProcess(in: directory, ["--roles", "worker,webhooks"])
        var client = try front.client(key: directory.apiKey())
        var work = try await submit(6, size: 400_000, kept: 300_000, origin, gate, over: client)
        for index in 0..<6 { await origin.log.arrived(1, at: "/\(index)") }
        #expect(await front.killNow() == 128 + SIGKILL)
        gate.open()
        let next = try await ServiceProcess(in: directory, ["--roles", "api"])
        client = try next.client(key: directory.apiKey())
        work = Work(
            client: client,
            ids: work.ids,
            names: work.names,
            bodies: work.bodies,
            receiver: work.receiver
        )
        try await work.check(directory)
        for index in 0..<6 { #expect(origin.log.now.requests(at: "/\(index)").count == 1) }
        for service in [worker, next] { #expect(await service.terminate() == 0) }
        #expect(try await directory.verify().status == 0)
    }

    @Test func nothingIsLostWhenTheDatabaseIsStoppedAtOnceUnderLoad() async throws {
        let directory = try DataDirectory()
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        let gate = OriginGate()
        let options = ["--connections-per-host", "64"]
        let front = try await ServiceProcess(in: directory, ["--roles", "api"])
        let workers = ["--roles", "worker,webhooks"] + options
        let first = try await ServiceProcess(in: directory, workers)
        let second = try await ServiceProcess(in: directory, workers)
        let client = try front.client(key: directory.apiKey())
        let http = try HTTPClient(front, key: directory.apiKey())
        let work = try await submit(300, size: 40_000, kept: 40_000, origin, gate, over: client)
        gate.open()
        // In the middle of the work, not before its start.
        try await eventually("some have ended") {
            try await client.events(of: "s").contains { $0.type == "task.completed" }
        }
        let server = try #require(directory.databaseServer)
        // An immediate shutdown (PostgreSQL manual, pg_ctl).
        kill(server, SIGQUIT)
        try await directory.serverEnds(server)
        try await eventually("the service recovers by itself", within: Self.patience) {
            await http.status("GET", "/readyz") == 200
        }
        try await work.check(directory)
        for service in [first, second, front] { #expect(await service.terminate() == 0) }
        #expect(try await directory.verify().status == 0)
    }
}
