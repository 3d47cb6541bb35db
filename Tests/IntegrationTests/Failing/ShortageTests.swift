import Foundation
import Postgres
import Testing
import TransferClient
import TransferTestSupport
import TransferWire

/// The effects on tasks while the service lacks a resource.
@Suite(.timeLimit(.minutes(3)), .serialized) struct ShortageTests {
    @Test func withTooFewDescriptorsTasksWaitAndNoneFails() async throws {
        let directory = try DataDirectory()
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        let bodies = (0..<60).map { OriginBody.random(seed: UInt64($0), size: 20_000) }
        for (index, body) in bodies.enumerated() {
            origin.when("/\(index)", .response(body: body))
        }
        let service = try await ServiceProcess(in: directory, ["--connections-per-host", "64"])
        let client = try service.client(key: directory.apiKey())
        try await client.makeSession("s")
        try await service.limitDescriptors(toFurther: 8)
        let (ids, names) = try await client.submitNamingEveryOther(
            bodies.indices.map { origin.url("/\($0)") },
            to: "s"
        )
        try await eventually("it is told") {
            try await client.health().shortages
                == ["descriptors_exhausted"]
        }
        try await service.limitDescriptors(toFurther: nil)
        for (id, body) in zip(ids, bodies) {
            try await eventually("each ends", within: .seconds(120)) {
                let task = try await client.task(id)
                #expect(task.state != "failed")
                return ["completed", "failed"].contains(task.state)
            }
            let content = try await client.bytes(ofTask: id)
            #expect(OriginBody.sha256(of: content) == body.sha256)
        }
        try await eventually("nothing of nobody is left") {
            try directory.holdsOnlyResults(names)
        }
        try await eventually("it is told that it is over") {
            try await client.health().status == "pass"
        }
        #expect(await service.terminate() == 0)
    }

    @Test func connectionsWithoutADescriptorWaitForOne() async throws {
        let directory = try DataDirectory()
        let log = try directory.log()
        let service = try await ServiceProcess(in: directory, log: log)
        let key = try directory.apiKey()
        // Its one connection is kept.
        let known = service.client(key: key)
        _ = try await known.sessions()
        try await service.limitDescriptors(toFurther: 0)
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<20 {
                let http = HTTPClient(service, key: key)
                group.addTask { try await http.send("GET", "/v1/sessions").status }
            }
            try await eventually("a connection is not accepted") {
                try String(contentsOfFile: log, encoding: .utf8).contains("not accepted")
            }
            _ = try await known.sessions()
            try await service.limitDescriptors(toFurther: nil)
            for try await status in group { #expect(status == 200) }
        }
        #expect(await service.terminate() == 0)
    }

    @Test func aBusyServiceWithoutDescriptorsLivesOn() async throws {
        let directory = try DataDirectory()
        let log = try directory.log()
        let service = try await ServiceProcess(in: directory, log: log)
        let key = try directory.apiKey()
        try await service.client(key: key).makeSession("s")
        // libdispatch counts the threads of its queues for tasks, and ends a process in which it
        // lacks a descriptor for that. It names these threads after the queues' classes of service;
        // the names of those that it does not count end in "overcommit".
        let counted = try service.threadNames().filter { $0.hasSuffix("-qos") }
        #expect(counted == [])
        let (submissions, submission) = AsyncStream<Void>.makeStream()
        var submitted = submissions.makeAsyncIterator()
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<16 {
                let client = service.client(key: key)
                group.addTask {
                    var isWanted = true
                    while isWanted {
                        _ = try await client.submit(["http://127.0.0.1:9/"], to: "s")
                        if case .terminated = submission.yield() { isWanted = false }
                    }
                    return 200
                }
            }
            // Their connections are kept from now on.
            for _ in 0..<100 { await submitted.next() }
            try await service.limitDescriptors(toFurther: 0)
            // Whatever descriptor is closed, one of these takes it.
            for _ in 0..<40 {
                let http = HTTPClient(service, key: key)
                group.addTask { try await http.send("GET", "/v1/sessions").status }
            }
            try await eventually("a connection is not accepted") {
                try String(contentsOfFile: log, encoding: .utf8).contains("not accepted")
            }
            for _ in 0..<1000 { await submitted.next() }
            submission.finish()
            try await service.limitDescriptors(toFurther: nil)
            for try await status in group { #expect(status == 200) }
        }
        #expect(await service.terminate() == 0)
    }

    /// Without a descriptor, no name is found either.
    @Test(arguments: ["127.0.0.1", "localhost"])
    func aMessageWithoutADescriptorIsSentAMomentLaterAsIfUntried(host: String) async throws {
        let directory = try DataDirectory()
        let log = try directory.log()
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        origin.when("/file", .response(body: .text("file")))
        let front = try await ServiceProcess(in: directory, ["--roles", "api,worker"])
        let hooks = try await ServiceProcess(in: directory, ["--roles", "webhooks"], log: log)
        let client = try front.client(key: directory.apiKey())
        try await client.makeSession("s")
        // Once it has delivered something, it has its connections to the database.
        let earlier = try WebhookReceiver()
        _ = try await client.subscribe(SubscriptionRequest(url: earlier.open()))
        _ = try await client.submit([origin.url("/file")], to: "s")
        _ = try await earlier.messages(1)
        try await hooks.denyDescriptors()
        let receiver = try WebhookReceiver()
        let url = receiver.open().replacingOccurrences(of: "127.0.0.1", with: host)
        let subscription = try await client.subscribe(SubscriptionRequest(url: url))
        _ = try await client.submit([origin.url("/file")], to: "s")
        try await eventually("its message is put off", within: .seconds(60)) {
            try String(contentsOfFile: log, encoding: .utf8).contains("webhook put off")
        }
        let aside = try await TestDatabase.connection(to: directory.databaseURL)
        let rows = try await aside.execute("SELECT count(*) AS count FROM failure_streak")
        await aside.close()
        let streaks: Int64 = try rows[0].decode("count")
        #expect(streaks == 0)
        try await hooks.limitDescriptors(toFurther: nil)
        _ = try await receiver.messages(1)
        let logged = try await client.deliveries(toSubscription: subscription.id)
        #expect(logged.items.isEmpty)
        for service in [hooks, front] { #expect(await service.terminate() == 0) }
    }
}
