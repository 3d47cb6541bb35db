import FaultProxy
import Foundation
import Glibc
import Testing
import TransferClient
import TransferTestSupport
import TransferWire

/// The state that survives when the service or its database is killed.
@Suite(.timeLimit(.minutes(5)), .serialized) struct CrashTests {
    private static let terminal: Set = ["task.completed", "task.failed", "task.cancelled"]

    /// Makes the session, and a subscription that leads to `receiver`.
    private func prepare(_ client: TransferService, _ receiver: WebhookReceiver) async throws {
        try await client.makeSession("s")
        _ = try await client.subscribe(SubscriptionRequest(url: receiver.open()))
    }

    /// Waits until the subscriber knows that exactly `generations` have ended.
    private func finished(_ receiver: WebhookReceiver, generations: Int = 1) async throws {
        await receiver.log.wait { Self.finishes($0.requests(at: "/hook")) >= generations }
        #expect(Self.finishes(receiver.log.now.requests(at: "/hook")) == generations)
    }

    /// Returns the number of ended generations; a repeated message has the same identifier, and
    /// counts once.
    private static func finishes(_ messages: [OriginRequest]) -> Int {
        let type = #""type":"session.events_finished""#
        let ends = messages.filter { String(decoding: $0.body, as: UTF8.self).contains(type) }
        return Set(ends.map { $0["webhook-id"] }).count
    }

    @Test func nothingIsLostOrDoneTwiceWhenTheServiceIsKilled() async throws {
        let directory = try DataDirectory()
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        let receiver = try WebhookReceiver()
        let gate = OriginGate()
        let bodies = (0..<50).map { OriginBody.random(seed: UInt64($0), size: 70_000 + $0 * 1000) }
        for (index, body) in bodies.enumerated() {
            origin.when("/\(index)", .gated(body, after: body.count / 2, gate))
        }
        let options = ["--connections-per-host", "64"]
        let first = try await ServiceProcess(in: directory, options)
        var client = try first.client(key: directory.apiKey())
        try await prepare(client, receiver)
        let (ids, names) = try await client.submitNamingEveryOther(
            bodies.indices.map { origin.url("/\($0)") },
            to: "s"
        )
        await origin.log.wait { log in
            bodies.indices.allSatisfy {
                log.bytesSent["/\($0)", default: 0] >= bodies[$0].count / 2
            }
        }
        // Bytes sent by the origin may still be on their way.
        try await eventually("every part file is there") {
            try directory.holdsOneFile(each: names)
        }
        let database = try #require(directory.databaseServer)
        #expect(await first.killNow() == 128 + SIGKILL)
        gate.open()

        let second = try await ServiceProcess(in: directory, options)
        // The cluster was left running and is taken over.
        #expect(directory.databaseServer == database)
        client = try second.client(key: directory.apiKey())
        try await finished(receiver)
        for (id, body) in zip(ids, bodies) {
            let content = try await client.bytes(ofTask: id)
            #expect(OriginBody.sha256(of: content) == body.sha256)
        }
        let events = try await client.events(of: "s")
        let ends = events.filter { Self.terminal.contains($0.type) }
        #expect(ends.count == 50)
        #expect(Set(ends.compactMap { $0.data.task?.id }) == Set(ids))
        #expect(events.count { $0.type == "session.events_finished" } == 1)
        #expect(events.last?.type == "session.events_finished")
        #expect(events.map(\.data.sequence) == (1...Int64(events.count)).map { $0 })
        try await eventually("what was abandoned is gone") {
            try directory.holdsOnlyResults(names)
        }
        #expect(await second.terminate() == 0)
        // It removes the file that names it shortly before it ends, and nobody waits for more.
        try await directory.serverEnds(database)
        #expect(try await directory.verify().status == 0)
        // Each event reached the subscriber, for the first time in order. Messages sent shortly
        // before the kill may come again, with the same bytes under the same identifier.
        let messages = receiver.received()
        var newest: Int64 = 0
        for message in messages {
            let sequence = try message.event().sequence
            #expect(sequence <= newest + 1)
            newest = max(newest, sequence)
        }
        #expect(newest == Int64(events.count))
        #expect(Set(messages.map(\.id)).count == events.count)
        #expect(Set(messages.map(\.body)).count == events.count)
    }

    @Test func onlyMissingBytesAreFetchedAfterAKill() async throws {
        let directory = try DataDirectory()
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        let receiver = try WebhookReceiver()
        let gate = OriginGate()
        let bodies = (0..<6).map { OriginBody.random(seed: UInt64($0), size: 4_000_000) }
        let kept = 3_000_000
        for (index, body) in bodies.enumerated() {
            origin.when("/\(index)") { request in
                .file(body, etag: "\"\(index)\"", for: request, pause: (kept, gate))
            }
        }
        let first = try await ServiceProcess(in: directory)
        var client = try first.client(key: directory.apiKey())
        try await prepare(client, receiver)
        let ids = try await client.submit(bodies.indices.map { origin.url("/\($0)") }, to: "s")
        for id in ids {
            try await eventually("progress is told") {
                try await client.task(id)
                    .countOfBytesReceived == Int64(kept)
            }
        }
        #expect(await first.killNow() == 128 + SIGKILL)
        gate.open()

        let second = try await ServiceProcess(in: directory)
        client = try second.client(key: directory.apiKey())
        try await finished(receiver)
        for (index, id) in ids.enumerated() {
            let content = try await client.bytes(ofTask: id)
            #expect(OriginBody.sha256(of: content) == bodies[index].sha256)
            // The page cache outlives the process, so that no byte is fetched twice.
            let requests = origin.log.now.requests(at: "/\(index)")
            #expect(requests.map { $0["Range"] } == [nil, "bytes=\(kept)-"])
            let attempts = try await client.attempts(ofTask: id)
            #expect(attempts.map(\.outcome) == ["lost", "completed"])
            #expect(attempts.last?.resumedAtOffset == Int64(kept))
        }
        let events = try await client.events(of: "s")
        #expect(events.count { $0.type == "task.resumed_at_offset" } == ids.count)
        try await eventually("what was abandoned is gone") { try directory.holdsOnlyResults(ids) }
        #expect(await second.terminate() == 0)
        #expect(try await directory.verify().status == 0)
    }

    /// Work of a predecessor in the same directory continues at once: the lock that the kernel
    /// released shows that the predecessor is dead.
    @Test func aRestartedServiceDoesNotWaitForItsOwnLease() async throws {
        let directory = try DataDirectory()
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        let gate = OriginGate()
        let body = OriginBody.random(seed: 1, size: 100_000)
        origin.when("/file", .gated(body, after: 50_000, gate))
        let first = try await ServiceProcess(in: directory)
        var client = try first.client(key: directory.apiKey())
        try await client.makeSession("s")
        let id = try await client.submit([origin.url("/file")], to: "s")[0]
        await origin.log.arrived(1, at: "/file")
        #expect(await first.killNow() == 128 + SIGKILL)
        gate.open()
        let second = try await ServiceProcess(in: directory)
        client = try second.client(key: directory.apiKey())
        var workers: Set<Int> = []
        try await eventually("the task has ended", within: .seconds(60)) {
            let health = try await client.health()
            if let count = health.workers { workers.insert(count) }
            return try await client.task(id).state
                == "completed"
        }
        // The dead worker was never visible; the new one is not counted before its first heartbeat.
        #expect(workers.isSubset(of: [0, 1]))
        try await eventually("the new one is counted") {
            try await client.health().workers == 1
        }
        let attempts = try await client.attempts(ofTask: id)
        #expect(attempts.map(\.outcome) == ["lost", "completed"])
        #expect(await second.terminate() == 0)
    }

    /// A claim that the database forgets is made again; a request that must not be sent twice has
    /// to wait until its claim can no longer be forgotten.
    @Test func aPostIsSentOnceThoughTheDatabaseCrashesRightAfterItsClaim() async throws {
        let directory = try DataDirectory()
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        let service = try await ServiceProcess(in: directory)
        let client = try service.client(key: directory.apiKey())
        let http = try HTTPClient(service, key: directory.apiKey())
        try await client.makeSession("s")
        for round in 0..<3 {
            let gate = OriginGate()
            let path = "/\(round)"
            origin.when(path, OriginScript([.wait(gate), .head(200, [("Content-Length", "0")])]))
            try await eventually("the service is ready", within: .seconds(60)) {
                await http.status("GET", "/readyz") == 200
            }
            let task = TaskRequest(target: .url(origin.url(path)), method: "POST")
            let id = try await client.submit([task], toSession: "s")[0].id
            await origin.log.arrived(1, at: path)
            let server = try #require(directory.databaseServer)
            // An immediate shutdown (PostgreSQL manual, pg_ctl).
            kill(server, SIGQUIT)
            try await directory.serverEnds(server)
            try await eventually("the task runs, or again", within: .seconds(60)) {
                let answer = try? await client.task(id)
                return answer?.state == "running"
            }
            gate.open()
            try await eventually("the task has ended", within: .seconds(60)) {
                try await client.task(id).state
                    == "completed"
            }
            #expect(origin.log.now.requests(at: path).count == 1)
        }
        #expect(await service.terminate() == 0)
    }

    @Test func onlyGapsAreFetchedAfterAKillOfSeveralConnections() async throws {
        let directory = try DataDirectory()
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        let receiver = try WebhookReceiver()
        let (begun, gate) = (OriginGate(), OriginGate())
        let body = OriginBody.random(seed: 4, size: 10_000_000)
        let kept = 600_000
        origin.when("/file") { request in
            var script = OriginScript.file(body, etag: "\"1\"", for: request, pause: (kept, gate))
            if request.numberAtPath == 1 {
                // More bytes come once the service has measured: with them others join.
                let first: [OriginScript.Step] = [
                    .body(body, 0..<100_000), .wait(begun), .body(body, 100_000..<kept),
                ]
                script.steps.replaceSubrange(1...1, with: first)
            }
            return script
        }
        let proxy = try FaultProxy(to: origin.port, .slow(rate: 1_000_000))
        defer { proxy.stop() }
        let first = try await ServiceProcess(in: directory)
        var client = try first.client(key: directory.apiKey())
        try await prepare(client, receiver)
        let id = try await client.submit(["http://127.0.0.1:\(proxy.port)/file"], to: "s")[0]
        var told: Int64 = 0
        try await eventually("bytes of the first connection are told") {
            try await client.task(id).countOfBytesReceived > 0
        }
        begun.open()
        await origin.log.arrived(2, at: "/file")
        try await eventually("bytes of several connections are told") {
            told = try await client.task(id).countOfBytesReceived
            return told > kept
        }
        #expect(await first.killNow() == 128 + SIGKILL)
        let count = origin.log.now.requests.count
        gate.open()

        let second = try await ServiceProcess(in: directory)
        client = try second.client(key: directory.apiKey())
        try await finished(receiver)
        let content = try await client.bytes(ofTask: id)
        #expect(OriginBody.sha256(of: content) == body.sha256)
        let again = origin.log.now.requests.dropFirst(count)
        #expect(!again.isEmpty)
        #expect(again.allSatisfy { $0["Range"] != nil })
        let attempts = try await client.attempts(ofTask: id)
        #expect(attempts.map(\.outcome) == ["lost", "completed"])
        // Reported progress is kept.
        #expect(try #require(attempts.last?.resumedAtOffset) >= told)
        #expect(try directory.holdsOnlyResults([id]))
        #expect(await second.terminate() == 0)
        #expect(try await directory.verify().status == 0)
    }

    @Test func aServiceThatIsAskedToStopHandsItsWorkToTheNextStart() async throws {
        let directory = try DataDirectory()
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        let receiver = try WebhookReceiver()
        let gate = OriginGate()
        let body = OriginBody.random(seed: 1, size: 100_000)
        origin.when("/file", .gated(body, after: 50_000, gate))
        let first = try await ServiceProcess(in: directory)
        var client = try first.client(key: directory.apiKey())
        try await prepare(client, receiver)
        let ids = try await client.submit([origin.url("/file"), origin.url("/file")], to: "s")
        await origin.log.arrived(2, at: "/file")
        let database = try #require(directory.databaseServer)
        #expect(await first.terminate() == 0)
        // It removes the file that names it shortly before it ends, and nobody waits for more.
        try await directory.serverEnds(database)
        #expect(try directory.files().isEmpty)
        gate.open()
        let second = try await ServiceProcess(in: directory)
        try await finished(receiver)
        client = try second.client(key: directory.apiKey())
        for id in ids {
            let task = try await client.task(id)
            #expect(task.state == "completed")
            #expect(task.attempt == 1)
        }
        // Another generation on the same session.
        _ = try await client.submit([origin.url("/file")], to: "s")
        try await finished(receiver, generations: 2)
        #expect(await second.terminate() == 0)
        #expect(try await directory.verify().status == 0)
    }

    @Test func aKilledDatabaseIsSaidAndSurvived() async throws {
        let directory = try DataDirectory()
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        let receiver = try WebhookReceiver()
        let gate = OriginGate()
        let body = OriginBody.random(seed: 3, size: 100_000)
        origin.when("/file", .gated(body, after: 50_000, gate))
        let log = try directory.log()
        let service = try await ServiceProcess(in: directory, log: log)
        let client = try service.client(key: directory.apiKey())
        let http = try HTTPClient(service, key: directory.apiKey())
        try await prepare(client, receiver)
        let ids = try await client.submit(
            Array(repeating: origin.url("/file"), count: 6),
            to: "s"
        )
        await origin.log.arrived(6, at: "/file")
        try await eventually("the service is ready") {
            await http.status("GET", "/readyz") == 200
        }

        let before = try String(contentsOfFile: log, encoding: .utf8)
        kill(try #require(directory.databaseServer), SIGKILL)
        // It says that it is not ready too, but perhaps only for a moment.
        try await eventually("the service says that the database is away") {
            try String(contentsOfFile: log, encoding: .utf8).dropFirst(before.count)
                .contains(#""message":"the database is away""#)
        }
        #expect(await http.status("GET", "/livez") == 200)
        let task = #"{"url":"\#(origin.url("/file"))"}"#
        let refused = try await http.send("POST", "/v1/sessions/s/tasks", task)
        // Unless the database is already back.
        if refused.status != 202 {
            #expect(refused.status == 503)
            #expect(refused.fields["retry-after"] != nil)
        }
        // Bodies that end while the database is away are kept until it is back.
        gate.open()
        try await eventually("the service recovers by itself", within: .seconds(60)) {
            await http.status("GET", "/readyz") == 200
        }
        try await finished(receiver)
        for id in ids {
            let task = try await client.task(id)
            #expect(task.state == "completed")
            let content = try await client.bytes(ofTask: id)
            #expect(OriginBody.sha256(of: content) == body.sha256)
        }
        #expect(try directory.holdsOnlyResults(ids))
        #expect(await service.terminate() == 0)
        #expect(try await directory.verify().status == 0)
    }
}
