import Curl
import Foundation
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

@testable import TransferEngine

/// Downloads with mirrors, from several origins.
@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct EngineMirrorTests {
    private static let body = OriginBody.random(seed: 77, size: 1_500_000)
    private static let other = OriginBody.random(seed: 78, size: 1_500_000)

    /// With the waits between attempts the test would take minutes.
    @Test func eachMirrorIsAskedAtOnceUntilOneServes() async throws {
        let stage = try await MirrorStage(4)
        stage.origins[0].stop()
        stage.origins[1].when("/file", .response(503))
        stage.origins[3].when("/file", .response(body: Self.body))
        let task = try await stage.download {
            $0.url += "?canary=5f1c"
            $0.options.mirrors?[2] += "?canary=5f1c"
        } configure: {
            $0.retryPolicy.delayBase = .seconds(600)
            $0.retryPolicy.delayMax = .seconds(600)
        }
        try await stage.expect(Self.body, in: task)
        #expect(task.url == stage.urls[0] + "?canary=5f1c")
        #expect(task.attempt == 1)
        #expect(task.result?.finalURL == stage.urls[3])
        #expect(stage.requests.map(\.count) == [0, 1, 1, 1])
        let attempts = try await stage.fixture.attempts(task.id)
        #expect(attempts.map(\.outcome) == [.retried, .retried, .retried, .completed])
        #expect(attempts.map(\.httpStatus) == [nil, 503, 404, 200])
        #expect(attempts.map(\.number) == [1, 1, 1, 1])
        // The client hears of the file, and of no wait.
        #expect(
            try await stage.fixture.events().map(\.kind) == [
                .taskCreated, .taskDownloadFinished, .taskCompleted, .sessionEventsFinished,
            ]
        )
    }

    @Test func aTaskFailsWhenEachOfItsURLsIsUsedUp() async throws {
        let stage = try await MirrorStage(3)
        stage.origins[0].when("/file", .response(503))
        stage.origins[1].when("/file", .response(410))
        stage.origins[2].when("/file", .response(500))
        let task = try await stage.download()
        #expect(task.state == .failed)
        #expect(task.failure?.httpStatus == 500)
        #expect(task.attempt == 3)
        // Who is gone is not asked again.
        #expect(stage.requests.map(\.count) == [3, 1, 3])
    }

    /// No other server could help.
    @Test func aFailureOfThisServiceLeadsToNoMirror() async throws {
        let stage = try await MirrorStage(2)
        try stage.fixture.place([1], at: "taken")
        for origin in stage.origins { origin.when("/file", .response(body: Self.body)) }
        let task = try await stage.download {
            $0.destination = Destination(path: "taken", overwrite: false)
        }
        #expect(task.failure?.code == .destinationCollision)
        #expect(stage.requests[1].isEmpty)
    }

    @Test func aClientsRetryStartsAtTheURL() async throws {
        let stage = try await MirrorStage(2)
        let id = try await stage.submit()
        _ = try await stage.fixture.withEngine { _ in try await stage.fixture.ended(id) }
        stage.origins[0].when("/file", .response(body: Self.body))
        stage.origins[1].when("/file", .response(body: Self.other))
        _ = try await stage.fixture.stores.retries.retryTask(
            tenant: stage.fixture.tenant,
            id: id,
            hasBody: false
        )
        let task = try await stage.fixture.withEngine { _ in try await stage.fixture.ended(id) }
        try await stage.expect(Self.body, in: task)
        #expect(task.result?.finalURL == nil)
    }

    @Test func secretsAreForTheOriginOfTheURLAlone() async throws {
        let stage = try await MirrorStage(2)
        stage.origins[0].when("/file", .response(404))
        stage.origins[0].when("/again", .response(404))
        stage.origins[1].when("/file", .response(body: Self.body))
        let task = try await stage.download {
            $0.headers = [
                HTTPHeader(name: "Authorization", value: "canary-5f1c"),
                HTTPHeader(name: "X-Key", value: "canary-5f1c"),
                HTTPHeader(name: "Accept", value: "text/plain"),
            ]
            $0.options.mirrors?.insert(stage.origins[0].url("/again"), at: 0)
        }
        try await stage.expect(Self.body, in: task)
        let again = stage.origins[0].log.now.requests(at: "/again")
        for request in stage.requests[0] + again {
            #expect(request["Authorization"] == "canary-5f1c")
            #expect(request["X-Key"] == "canary-5f1c")
        }
        #expect(again.count == 1)
        let mirrored = try #require(stage.requests[1].first)
        #expect(mirrored["Accept"] == "text/plain")
        #expect(!mirrored.headers.contains { $0.value.contains("canary") })
    }

    /// A client is asked for a credential only if it has said so; a mirror gets none in any case.
    @Test(arguments: [nil, true, false])
    func a401LeadsToTheNextMirrorUnlessTheClientIsToBeAsked(asks: Bool?) async throws {
        let stage = try await MirrorStage(2)
        let refusal = OriginScript.response(401, headers: [("WWW-Authenticate", "Basic")])
        stage.origins[0].when("/file", refusal)
        stage.origins[1].when("/file", refusal)
        let id = try await stage.submit { $0.options.asksForCredential = asks }
        try await stage.fixture.withEngine { _ in
            try await eventually("it has ended, or waits") {
                let state = try await stage.fixture.task(id).state
                return state.isTerminal || state == .waitingForAuthentication
            }
        }
        let state = try await stage.fixture.task(id).state
        #expect(state == (asks == true ? .waitingForAuthentication : .failed))
        #expect(stage.requests.map(\.count) == (asks == true ? [1, 0] : [1, 1]))
    }

    /// An answer would be for the URL's origin.
    @Test func aMirrorsChallengeIsNoQuestion() async throws {
        let stage = try await MirrorStage(2)
        stage.origins[0].when("/file", .response(404))
        stage.origins[1].when(
            "/file",
            .response(401, headers: [("WWW-Authenticate", "Basic")])
        )
        let id = try await stage.submit { $0.options.asksForCredential = true }
        try await stage.fixture.withEngine { _ in
            try await eventually("it has ended, or waits") {
                let state = try await stage.fixture.task(id).state
                return state.isTerminal || state == .waitingForAuthentication
            }
        }
        #expect(try await stage.fixture.task(id).failure?.httpStatus == 401)
        #expect(try await stage.fixture.task(id).state == .failed)
    }

    /// The egress rules hold for mirrors as for any URL.
    @Test func aMirrorInADeniedNetworkIsPassedOver() async throws {
        let stage = try await MirrorStage(3)
        stage.origins[0].when("/file", .response(404))
        for origin in stage.origins.dropFirst() {
            origin.when("/file", .response(body: Self.body))
        }
        let denied = stage.origins[1].port
        let task = try await stage.download { _ in
        } configure: {
            $0.egress = EgressGuard { $0.port != denied }
        }
        try await stage.expect(Self.body, in: task)
        #expect(stage.requests.map(\.count) == [1, 0, 1])
        let attempts = try await stage.fixture.attempts(task.id)
        #expect(attempts.map(\.failure?.code) == [.httpStatus, .egressDenied, nil])
    }

    /// A task that has come to a host that is paused waits there, as any other.
    @Test func aPausedMirrorIsNotAsked() async throws {
        let stage = try await MirrorStage(2)
        let fixture = stage.fixture
        stage.origins[0].when("/file", .response(404))
        stage.origins[1].when("/file", .response(body: Self.body))
        let store = PauseStore(fixture.stores.database)
        let host = HostKey(host: "127.0.0.1", port: Int(stage.origins[1].port))
        let scope = Pause.Scope(tenant: nil, host: host)
        #expect(
            try await store.pause(
                Pause(
                    scope: scope,
                    hostName: "127.0.0.1:\(stage.origins[1].port)",
                    isByTenant: false,
                    givesBack: false,
                    pausedAt: Date()
                )
            )
        )
        let id = try await stage.submit()
        try await fixture.withEngine { engine in
            try await eventually("it has come to the mirror") {
                try await fixture.attempts(id).count == 1
            }
            engine.wake()
            #expect(try await fixture.task(id).state == .queued)
            #expect(stage.requests.map(\.count) == [1, 0])
            #expect(try await store.endPause(scope, isByTenant: false))
            engine.wake()
            try await fixture.expectCompletion([id])
        }
    }

    /// As many tasks wait for the mirror as have come to it, and no more of them run than its host
    /// may have.
    @Test func theLimitOfAMirrorsHostHolds() async throws {
        let stage = try await MirrorStage(2)
        let fixture = stage.fixture
        stage.origins[0].when("/file", .response(404))
        let gate = OriginGate()
        stage.origins[1].when("/file", .gated(Self.body, after: 1000, gate))
        var ids: [TaskID] = []
        for _ in 0..<8 { ids.append(try await stage.submit()) }
        let all = ids
        try await fixture.withEngine {
            $0.connectionsPerHost = 2
        } _: { engine in
            await stage.origins[0].log.arrived(8, at: "/file")
            await stage.origins[1].log.arrived(2, at: "/file")
            try await eventually("all have come to the mirror") {
                var count = 0
                for id in all { count += try await fixture.attempts(id).count }
                return count == 8
            }
            engine.wake()
            #expect(stage.requests[1].count == 2)
            gate.open()
            try await fixture.expectCompletion(all)
        }
        #expect(stage.origins[1].log.now.requestsOpenPeak <= 2)
    }

    /// Hosts that are away cost a background task no attempt, wherever they are.
    @Test func aTaskWaitsForConnectivityAfterItsLastMirror() async throws {
        let stage = try await MirrorStage(2)
        let fixture = stage.fixture
        let ports = stage.origins.map(\.port)
        for origin in stage.origins { origin.stop() }
        let id = try await stage.submit { $0.options.waitsForConnectivity = true }
        try await fixture.withEngine {
            $0.connectivity.retryDelay = .milliseconds(20)
            $0.retryPolicy.attemptsMax = 1
        } _: { _ in
            try await eventually("it has gone round") { try await fixture.attempts(id).count >= 4 }
            #expect(try await fixture.task(id).attempt <= 1)
            let origin = try LoopbackOrigin(port: ports[1])
            defer { origin.stop() }
            origin.when("/file", .response(body: Self.body))
            try await eventually("it has ended") { try await fixture.task(id).state.isTerminal }
        }
        try await stage.expect(Self.body, in: try await fixture.task(id))
    }
}
