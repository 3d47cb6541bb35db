import Curl
import PollLoop
import FaultProxy
import Foundation
import Logging
import Postgres
import ServiceLifecycle
import Testing
import TransferContainer
import TransferModel
import TransferStore
import TransferTestSupport

@testable import TransferEngine

/// Changes that the database has made although nobody was told: the connection broke after the
/// `COMMIT`.
@Suite(.postgresSchema, .timeLimit(.minutes(4))) struct LostAnswerTests {
    private static let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    /// The part file of an attempt that was taken away is removed, although the question whether
    /// anybody needs it was not answered.
    @Test func theFileOfARevokedAttemptGoes() async throws {
        let fixture = try await EngineFixture()
        let id = try await fixture.submit(fixture.origin.url("/never"))
        let identity = WorkerIdentity(
            incarnation: try await fixture.stores.workers.registerWorker(name: "test")
        )
        let claim = try #require(try await fixture.stores.queue.claimAny(1, by: identity).first)
        let container = try Container(directory: fixture.directory)
        let place = Container.Place(
            partOf: id,
            destination: nil,
            fence: claim.fence,
            tenant: fixture.tenant
        )
        try container.prepareDirectory(of: place)
        let part = try PartFile(place, fence: claim.fence, in: container)
        #expect(fixture.files().count == 1)
        _ = try await fixture.stores.control.cancelTask(tenant: fixture.tenant, id: id)
        let proxy = try await TestDatabase.current.proxy()
        let completer = AttemptCompleter(
            loop: try PollLoop(name: "completer"),
            stores: EngineStores(Database(pool: TestDatabase.current.pool(through: proxy.port))),
            container: container,
            packs: Packs(container),
            logger: Self.logger,
            // Between the end and the question.
            onEnded: { _ in proxy.cutAnswers(1) }
        )
        let running = Task { await completer.run() }
        completer.submit(
            .attemptEnd(
                AttemptEnd(
                    task: id,
                    fence: claim.fence,
                    outcome: .failed(TransferFailure(.poison, "The worker died."))
                ),
                part: .file(part)
            )
        )
        try await eventually("the end was looked after") { completer.backlog == 0 }
        #expect(proxy.answersToCut == 0)
        #expect(fixture.files().isEmpty)
        running.cancel()
        await running.value
        proxy.stop()
    }

    /// A worker that registers and gets no answer registers again.
    ///
    /// The first registration is not counted, and is removed like those of dead workers.
    @Test func aRegistrationThatNobodyHeardOfDoesNoHarm() async throws {
        let fixture = try await EngineFixture()
        let stores = fixture.stores
        let proxy = try await TestDatabase.current.proxy()
        var configuration = EngineConfiguration(egress: EgressGuard { _ in true })
        configuration.heartbeatInterval = .milliseconds(20)
        configuration.lease = .seconds(600)
        let identity = WorkerIdentity(
            incarnation: try await stores.workers.registerWorker(name: "worker", leasesShards: true)
        )
        let declaredDead = identity.incarnation
        let keeper = LeaseKeeper(
            workers: WorkerStore(
                Database(pool: TestDatabase.current.pool(through: proxy.port))
            ),
            identity: identity,
            configuration: configuration,
            leasesShards: true,
            logger: Self.logger,
            onLost: {
                // The answer to the first of two registrations is lost.
                if proxy.counts.connections == 1 { proxy.cutAnswers(1) }
            }
        )
        let group = ServiceGroup(services: [keeper], logger: Self.logger)
        let running = Task { try await group.run() }
        try await eventually("it lives") {
            try await stores.fleet.vitals(silentFor: .seconds(10)).workers == 1
        }
        try await stores.workers.retireWorker(incarnation: declaredDead)
        try await eventually("it has registered twice") {
            identity.incarnation != declaredDead && proxy.counts.connections > 1
        }
        try await eventually("it lives again") {
            try await stores.fleet.vitals(silentFor: .seconds(10)).workers == 1
        }
        let aside = try await TestDatabase.current.connection()
        let registered: Query = "SELECT count(*) AS count FROM worker"
        #expect(try await aside.execute(registered)[0].decode("count", as: Int64.self) == 2)
        // All hosts are for the worker that is alive.
        let lease = try await stores.workers.leaseShards(incarnation: identity.incarnation)
        #expect(lease.shards == Set(Shard.all))
        try await fixture.loseWorkers(except: identity)
        let takeover = try await stores.workers.takeOver(
            silentFor: configuration.lease,
            identity: identity
        )
        #expect(takeover.workers == 1)
        #expect(takeover.attempts.isEmpty)
        #expect(try await aside.execute(registered)[0].decode("count", as: Int64.self) == 1)
        await group.triggerGracefulShutdown()
        try await running.value
        proxy.stop()
    }

    /// While an ephemeral session with running tasks is ended and erased, one answer after the
    /// other is lost.
    ///
    /// Once no more are lost, nothing of the session is left.
    @Test func anErasureComesToItsEnd() async throws {
        let fixture = try await EngineFixture()
        let body = OriginBody.random(seed: 9, size: 50_000)
        let gate = OriginGate()
        fixture.origin.when("/whole", .response(body: body))
        fixture.origin.when("/gated", .gated(body, after: 20_000, gate))
        try await fixture.putEphemeral()
        let whole = try await withTasks(20) {
            try await fixture.submit(fixture.origin.url("/whole"), to: EngineFixture.ephemeral)
        }
        let proxy = try await TestDatabase.current.proxy()
        let stores = Stores(
            Database(
                pool: TestDatabase.current.pool(through: proxy.port, connectionsMax: 4)
            )
        )
        try await fixture.withEngine(on: stores) { configuration in
            configuration.heartbeatInterval = .milliseconds(50)
            configuration.connectionsPerHost = 32
        } _: { _ in
            for id in whole { _ = try await fixture.ended(id) }
            _ = try await withTasks(10) {
                try await fixture.submit(fixture.origin.url("/gated"), to: EngineFixture.ephemeral)
            }
            await fixture.origin.log.arrived(10, at: "/gated")
            #expect(!fixture.files().isEmpty)
            _ = try await fixture.stores.sessions.invalidateSession(
                tenant: fixture.tenant,
                identifier: EngineFixture.ephemeral
            )
            for _ in 0..<40 {
                proxy.cutAnswers(1)
                try await eventually("an answer was lost") { proxy.answersToCut == 0 }
            }
            gate.open()
            let aside = try await TestDatabase.current.connection()
            try await eventually("nothing is left", within: .seconds(90)) {
                let rows = try await aside.execute("SELECT 1 FROM session WHERE kind = 'ephemeral'")
                return rows.isEmpty && fixture.files().isEmpty
            }
            let left = try await aside.execute(
                """
                SELECT 1 FROM task UNION ALL SELECT 1 FROM running_attempt UNION ALL SELECT 1 FROM erasure
                UNION ALL SELECT 1 FROM revocation UNION ALL SELECT 1 FROM abandoned_part
                UNION ALL SELECT 1 FROM cancellation
                """
            )
            #expect(left.isEmpty)
        }
        proxy.stop()
    }

    private func withTasks(
        _ count: Int,
        _ submit: () async throws -> TaskID
    ) async throws -> [TaskID] {
        var ids: [TaskID] = []
        for _ in 0..<count { ids.append(try await submit()) }
        return ids
    }
}
