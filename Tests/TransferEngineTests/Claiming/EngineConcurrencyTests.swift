import Curl
import Foundation
import Synchronization
import Testing
import TransferEngine
import TransferModel
import TransferStore
import TransferTestSupport

@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct EngineConcurrencyTests {
    private static let body = OriginBody.random(seed: 5, size: 100_000)

    private func queued(_ fixture: EngineFixture) async throws -> Int {
        try await tasks(.queued, fixture).count
    }

    private func tasks(
        _ state: TransferState,
        _ fixture: EngineFixture
    ) async throws -> [TransferTask] {
        try #require(
            try await fixture.stores.taskLists.tasks(
                tenant: fixture.tenant,
                sessionIdentifier: EngineFixture.identifier,
                filter: TaskFilter(states: [state]),
                after: nil,
                limit: 1000
            )?.tasks
        )
    }

    @Test func aHostNeverSeesMoreConnectionsThanItsCap() async throws {
        let fixture = try await EngineFixture()
        let gate = OriginGate()
        fixture.origin.when("/slow", .gated(Self.body, after: 1000, gate))
        let other = try LoopbackOrigin()
        defer { other.stop() }
        other.when("/file", .response(body: Self.body))
        var slow: [TaskID] = []
        for _ in 0..<12 { slow.append(try await fixture.submit(fixture.origin.url("/slow"))) }
        try await fixture.withEngine {
            $0.connectionsPerHost = 3
        } _: { [slow] engine in
            await fixture.origin.log.arrived(3, at: "/slow")
            // Each of these is a whole round of claiming, with the slow host's queue in view.
            for _ in 0..<3 {
                let id = try await fixture.submit(other.url("/file"))
                engine.wake()
                #expect(try await fixture.ended(id).state == .completed)
            }
            #expect(fixture.origin.log.now.requests.count == 3)
            #expect(try await queued(fixture) == 9)
            gate.open()
            try await fixture.expectCompletion(slow)
        }
        try await fixture.expectNoParts()
    }

    /// However many loops there are, an origin that counts connections sees those of the cap.
    @Test func aHostKeepsNoMoreConnectionsThanItsCap() async throws {
        let fixture = try await EngineFixture()
        fixture.origin.when("/file", .response(body: Self.body))
        var ids: [TaskID] = []
        for _ in 0..<100 { ids.append(try await fixture.submit(fixture.origin.url("/file"))) }
        try await fixture.withEngine {
            $0.connectionsPerHost = 4
        } _: { [ids] _ in
            try await fixture.expectCompletion(ids)
            #expect(fixture.origin.log.now.connectionsAccepted <= 4)
        }
    }

    @Test func hostsThatAreBusyDoNotHideOthersFromTheClaim() async throws {
        let fixture = try await EngineFixture()
        let gate = OriginGate()
        fixture.origin.when("/slow", .gated(Self.body, after: 1000, gate))
        // Lanes represent hosts here: 90 of them, each with one running and one waiting task.
        var ids: [TaskID] = []
        for index in 0..<180 {
            ids.append(
                try await fixture.submit(fixture.origin.url("/slow")) {
                    $0.hostKey = HostKey(rawValue: Int64(index % 90))
                }
            )
        }
        try await fixture.withEngine {
            $0.connectionsPerHost = 1
        } _: { [ids] _ in
            await fixture.origin.log.arrived(90, at: "/slow")
            let waiting = try await queued(fixture)
            #expect(waiting == 90)
            gate.open()
            try await fixture.expectCompletion(ids)
        }
    }

    @Test func aCancelledTaskStopsAndLeavesNothing() async throws {
        let fixture = try await EngineFixture()
        fixture.origin.when("/file", .gated(Self.body, after: 50_000, OriginGate()))
        let id = try await fixture.submit(fixture.origin.url("/file"))
        try await fixture.withEngine { engine in
            await fixture.origin.log.sent(50_000, at: "/file")
            let task = try await fixture.stores.control.cancelTask(tenant: fixture.tenant, id: id)
            #expect(task?.state == .cancelled)
            engine.wake()
            // The origin notices that nobody reads any more.
            await fixture.origin.log.wait { $0.connectionsOpen == 0 }
        }
        #expect(try await fixture.task(id).state == .cancelled)
        #expect(fixture.files().isEmpty)
    }

    @Test func aCancellationIsNoticedWithoutASignal() async throws {
        let fixture = try await EngineFixture()
        fixture.origin.when("/file", .gated(Self.body, after: 50_000, OriginGate()))
        let id = try await fixture.submit(fixture.origin.url("/file"))
        try await fixture.withEngine { _ in
            await fixture.origin.log.sent(50_000, at: "/file")
            _ = try await fixture.stores.control.cancelTask(tenant: fixture.tenant, id: id)
            await fixture.origin.log.wait { $0.connectionsOpen == 0 }
        }
        try await fixture.expectNoParts()
    }

    @Test func aStoppedWorkerGivesItsTasksToTheNext() async throws {
        let fixture = try await EngineFixture()
        let gate = OriginGate()
        fixture.origin.when("/file", .gated(Self.body, after: 50_000, gate))
        var ids: [TaskID] = []
        for _ in 0..<5 { ids.append(try await fixture.submit(fixture.origin.url("/file"))) }
        try await fixture.withEngine { _ in await fixture.origin.log.arrived(5, at: "/file") }
        let waiting = try await tasks(.queued, fixture)
        #expect(waiting.count == 5)
        // Given back unchanged, so that the attempt does not count.
        #expect(waiting.allSatisfy { $0.attempt == 0 })
        #expect(fixture.files().isEmpty)
        #expect(try await fixture.stores.fleet.vitals(silentFor: .seconds(60)).workers == 0)
        gate.open()
        try await fixture.withEngine { [ids] _ in
            for id in ids {
                let task = try await fixture.ended(id)
                #expect(task.state == .completed)
                #expect(task.attempt == 1)
                #expect(try fixture.content(task) == Self.body.bytes)
            }
        }
        try await fixture.expectNoParts()
    }

    @Test func aWorkerThatVanishedIsReplaced() async throws {
        let fixture = try await EngineFixture()
        fixture.origin.when("/file", .response(body: Self.body))
        let ids = try await Self.submitNamed(fixture)
        // A worker that claims both, receives one file completely and durably, and then is gone.
        let dead = WorkerIdentity(
            incarnation: try await fixture.stores.workers.registerWorker(name: "dead")
        )
        let claims = try await fixture.stores.queue.claimAny(2, by: dead)
        for claim in claims {
            try fixture.place(Array("whole".utf8), at: Self.part(of: claim))
        }
        let begun = try await fixture.stores.completions.end(
            [],
            beginning: [Self.pendingRename(of: claims[0])]
        )
        #expect(begun.count == 1)
        try await fixture.withEngine {
            $0.heartbeatInterval = .milliseconds(50)
        } prepare: {
            try await fixture.loseWorkers(except: $0)
        } _: { [claims] _ in
            let first = try await fixture.ended(claims[0].task)
            #expect(try fixture.content(first) == Array("whole".utf8))
            let second = try await fixture.ended(claims[1].task)
            #expect(second.attempt == 2)
            #expect(try fixture.content(second) == Self.body.bytes)
            // What cannot be removed at once is removed by the next look at what is left.
            try await eventually("no part is left") { try await fixture.parts().isEmpty }
        }
        #expect(Set(claims.map(\.task)) == Set(ids))
    }

    /// The database has given the worker two tasks, but the worker knows of neither.
    @Test func anAnswerThatWasLostIsMadeUpFor() async throws {
        let fixture = try await EngineFixture()
        fixture.origin.when("/file", .response(body: Self.body))
        _ = try await Self.submitNamed(fixture)
        let claims = Mutex<[TaskClaim]>([])
        try await fixture.withEngine {
            $0.heartbeatInterval = .milliseconds(50)
        } prepare: { identity in
            let taken = try await fixture.stores.queue.claimAny(2, by: identity)
            let whole = try #require(taken.first)
            try fixture.place(Array("whole".utf8), at: Self.part(of: whole))
            let begun = try await fixture.stores.completions.end(
                [],
                beginning: [Self.pendingRename(of: whole)]
            )
            #expect(begun.count == 1)
            claims.withLock { $0 = taken }
        } _: { _ in
            let claims = claims.withLock { $0 }
            let first = try await fixture.ended(claims[0].task)
            #expect(try fixture.content(first) == Array("whole".utf8))
            let second = try await fixture.ended(claims[1].task)
            // Given back unchanged.
            #expect(second.attempt == 1)
            #expect(try fixture.content(second) == Self.body.bytes)
        }
        try await fixture.expectNoParts()
    }

    /// The same for a request that must not be sent twice, when nobody knows whether it was sent.
    @Test func aForgottenRequestIsSentAgainOnlyIfThatDoesNoHarm() async throws {
        let fixture = try await EngineFixture()
        fixture.origin.when("/in", .response(200))
        var ids: [TaskID] = []
        for method in ["POST", "PUT"] {
            ids.append(
                try await fixture.submit(fixture.origin.url("/in")) {
                    $0.request = TransferRequest(method: method, upload: .data([1]))
                }
            )
        }
        let all = ids
        try await fixture.withEngine {
            $0.heartbeatInterval = .milliseconds(50)
        } prepare: { identity in
            let claims = try await fixture.stores.queue.claimAny(2, by: identity)
            #expect(claims.count == 2)
        } _: { _ in
            let unrepeatable = try await fixture.ended(all[0])
            #expect(unrepeatable.failure?.code == .unknownOutcome)
            try await fixture.expectCompletion([all[1]])
        }
        #expect(fixture.origin.log.now.requests.map(\.method) == ["PUT"])
    }

    /// Submits two tasks for the same file, each with a destination.
    private static func submitNamed(_ fixture: EngineFixture) async throws -> [TaskID] {
        var ids: [TaskID] = []
        for path in ["first", "second"] {
            ids.append(
                try await fixture.submit(fixture.origin.url("/file")) {
                    $0.destination = Destination(path: path, overwrite: false)
                }
            )
        }
        return ids
    }

    /// Returns the path of the part file of an attempt.
    private static func part(of claim: TaskClaim) -> String {
        ResultLocation.partPath(of: claim.task, destination: claim.destination, fence: claim.fence)
    }

    /// Returns the pending rename of a file of five bytes, complete and durable.
    private static func pendingRename(of claim: TaskClaim) -> PendingRename {
        PendingRename(
            of: claim,
            result: TransferResult(
                httpStatus: 200,
                bytesReceived: 5,
                isLengthVerified: true
            ),
            file: FileIdentity(inode: 1, bornAtNanoseconds: 1)
        )
    }

    @Test func aTaskThatKillsItsWorkersIsGivenUp() async throws {
        let fixture = try await EngineFixture()
        fixture.origin.when("/file", .response(body: Self.body))
        let id = try await fixture.submit(fixture.origin.url("/file"))
        for round in 1...5 {
            let victim = WorkerIdentity(
                incarnation: try await fixture.stores.workers.registerWorker(name: "victim")
            )
            let claims = try await fixture.stores.queue.claimAny(1, by: victim)
            #expect(claims.map(\.number) == [round])
            guard round < 5 else { break }
            _ = try await fixture.stores.completions.end(
                claims.map { AttemptEnd(task: $0.task, fence: $0.fence, outcome: .requeued) }
            )
            try await fixture.stores.workers.retireWorker(incarnation: victim.incarnation)
        }
        let task = try await fixture.withEngine {
            $0.heartbeatInterval = .milliseconds(50)
        } prepare: {
            try await fixture.loseWorkers(except: $0)
        } _: { _ in
            try await fixture.ended(id)
        }
        #expect(task.failure?.code == .poison)
        #expect(fixture.origin.log.now.requests.isEmpty)
    }

    /// Attempts that the origin refused are no deaths of workers.
    @Test func aDeathAfterFailuresIsOneDeath() async throws {
        let task = try await afterADeath { claim, _ in
            .retry(TransferFailure(.httpStatus, "503", httpStatus: 503), after: .zero)
        }
        #expect(task.state == .completed)
        #expect(task.attempt == 6)
    }

    @Test func progressStartsTheCountOfDeathsAnew() async throws {
        let task = try await afterADeath { claim, fixture in
            let progress = AttemptProgress(
                task: claim.task,
                fence: claim.fence,
                bytesReceived: Int64(1000 * claim.number),
                bytesExpected: Int64(Self.body.count)
            )
            _ = try await fixture.stores.parts.recordProgress([progress])
            return claim.number < 5 ? .requeued : nil
        }
        #expect(task.state == .completed)
    }

    /// Returns the result for a task whose fifth attempt's worker dies, and whose first four
    /// attempts end according to `end`.
    private func afterADeath(
        _ end: (TaskClaim, EngineFixture) async throws -> AttemptOutcome?
    ) async throws -> TransferTask {
        let fixture = try await EngineFixture()
        fixture.origin.when("/file", .response(body: Self.body))
        let id = try await fixture.submit(fixture.origin.url("/file"))
        for round in 1...5 {
            let victim = WorkerIdentity(
                incarnation: try await fixture.stores.workers.registerWorker(name: "victim")
            )
            let claim = try #require(try await fixture.stores.queue.claimAny(1, by: victim).first)
            #expect(claim.number == round)
            guard let outcome = try await end(claim, fixture), round < 5 else { break }
            _ = try await fixture.stores.completions.end([
                AttemptEnd(task: id, fence: claim.fence, outcome: outcome)
            ])
            _ = try await fixture.stores.queue.promoteDue()
            try await fixture.stores.workers.retireWorker(incarnation: victim.incarnation)
        }
        return try await fixture.withEngine {
            $0.heartbeatInterval = .milliseconds(50)
        } prepare: {
            try await fixture.loseWorkers(except: $0)
        } _: { _ in
            try await fixture.ended(id)
        }
    }

    @Test func aWorkerThatWasDeclaredDeadGoesOnWithANewLife() async throws {
        let fixture = try await EngineFixture()
        let gate = OriginGate()
        fixture.origin.when("/file", .gated(Self.body, after: 50_000, gate))
        let id = try await fixture.submit(fixture.origin.url("/file"))
        let incarnation = Mutex<Int32?>(nil)
        try await fixture.withEngine {
            $0.heartbeatInterval = .milliseconds(50)
        } prepare: { identity in
            incarnation.withLock { $0 = identity.incarnation }
        } _: { _ in
            await fixture.origin.log.sent(50_000, at: "/file")
            // Another instance takes over and gives the task back to the queue.
            let rescuer = WorkerIdentity(
                incarnation: try await fixture.stores.workers.registerWorker(name: "rescuer")
            )
            let victim = try #require(incarnation.withLock { $0 })
            try await fixture.stores.workers.retireWorker(incarnation: victim)
            let attempts = try await fixture.stores.workers.takeOver(
                silentFor: .seconds(600),
                identity: rescuer
            ).attempts
            gate.open()
            _ = try await fixture.stores.completions.end(
                attempts.map { AttemptEnd(task: $0.task, fence: $0.fence, outcome: .requeued) }
            )
            let task = try await fixture.ended(id)
            #expect(task.state == .completed)
            // Unless its new life has taken it over before, and given it back unchanged.
            #expect(attempts.isEmpty || task.attempt == 2)
            #expect(try fixture.content(task) == Self.body.bytes)
        }
        #expect(fixture.files().count == 1)
    }

    @Test func startsATaskWhenItsTimeHasCome() async throws {
        let fixture = try await EngineFixture()
        fixture.origin.when("/file", .response(body: Self.body))
        let id = try await fixture.submit(fixture.origin.url("/file")) {
            $0.earliestBeginAt = Date() + 3600
        }
        #expect(try await fixture.task(id).state == .scheduled)
        let begin = try await fixture.makeDueSoon()
        let task = try await fixture.withEngine { _ in try await fixture.ended(id) }
        #expect(task.state == .completed)
        #expect(try #require(task.finishedAt) > begin)
    }
}
