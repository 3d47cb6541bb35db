import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

@testable import TransferEngine

/// Attempts that fail because a test of a client wants them to.
@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct EngineTestHookTests {
    private static let body = OriginBody.random(seed: 5, size: 1000)

    private func fixture(isForTests: Bool = true) async throws -> EngineFixture {
        let fixture = try await EngineFixture()
        _ = try await TestDatabase.current.connection().execute(
            "UPDATE tenant SET is_for_tests = \(isForTests) WHERE id = \(fixture.tenant.uuid)"
        )
        fixture.origin.when("/file", .response(body: Self.body))
        return fixture
    }

    /// Submits a download whose first attempt is to fail.
    private func submit(
        _ fixture: EngineFixture,
        failing code: TransferFailure.Code,
        httpStatus: Int? = nil,
        _ change: (inout TaskSubmission) -> Void = { _ in }
    ) async throws -> TaskID {
        let id = try await fixture.submit(fixture.origin.url("/file"), change)
        let result = try await fixture.stores.testHooks.failNextAttempt(
            of: id,
            tenant: fixture.tenant,
            with: #require(TestFailure(code: code, httpStatus: httpStatus))
        )
        guard case .recorded = result else { throw CancellationError() }
        return id
    }

    private func waits(
        _ fixture: EngineFixture,
        _ id: TaskID,
        _ state: TransferState
    ) async throws {
        try await eventually("it is \(state)") { try await fixture.task(id).state == state }
    }

    /// The attempt is one of the task's, and the host is not closed because of it.
    @Test func theNextAttemptFailsAndTheOneAfterItDoesNot() async throws {
        let fixture = try await fixture()
        let id = try await submit(fixture, failing: .httpStatus, httpStatus: 503)
        let task = try await fixture.withEngine {
            $0.connectivity.failuresMin = 1
            $0.connectivity.silenceMin = .zero
            $0.connectivity.probeDelayBase = .seconds(3600)
        } _: { _ in
            try await fixture.ended(id)
        }
        #expect(task.state == .completed)
        #expect(task.attempt == 2)
        #expect(fixture.origin.log.now.requests(at: "/file").count == 1)
        let attempts = try await fixture.attempts(id)
        #expect(attempts.map(\.number) == [1, 2])
        #expect(attempts.first?.failure?.code == .httpStatus)
        #expect(attempts.first?.failure?.httpStatus == 503)
        let kinds = try await fixture.events().map(\.kind)
        #expect(kinds.contains(.taskWaiting))
        #expect(kinds.last == .sessionEventsFinished)
    }

    @Test func aTaskWithoutFurtherAttemptsFails() async throws {
        let fixture = try await fixture()
        let id = try await submit(fixture, failing: .connectionLost) { $0.options.attemptsMax = 1 }
        let task = try await fixture.withEngine { _ in try await fixture.ended(id) }
        #expect(task.state == .failed)
        #expect(task.failure?.code == .connectionLost)
        #expect(fixture.origin.log.now.requests.isEmpty)
    }

    /// As far as anybody knows, the origin had the request.
    @Test func whatMustNotBeSentTwiceIsNot() async throws {
        let fixture = try await fixture()
        let id = try await submit(fixture, failing: .connectionLost) {
            $0.request = TransferRequest(method: "POST")
        }
        let task = try await fixture.withEngine { _ in try await fixture.ended(id) }
        #expect(task.state == .failed)
        #expect(task.failure?.code == .unknownOutcome)
    }

    @Test func aRefusalAsksTheClientUntilItsTimeIsOver() async throws {
        let fixture = try await fixture()
        let id = try await submit(fixture, failing: .httpStatus, httpStatus: 401)
        let task = try await fixture.withEngine { _ in
            try await waits(fixture, id, .waitingForAuthentication)
            try await fixture.stores.testHooks.endWait(of: id, tenant: fixture.tenant)
            return try await fixture.ended(id)
        }
        #expect(task.state == .failed)
        #expect(task.failure?.httpStatus == 401)
    }

    @Test func aTaskThatWaitsForItsHostGoesOnAtTheEndOfTheWait() async throws {
        let fixture = try await fixture()
        let id = try await submit(fixture, failing: .couldNotConnect) {
            $0.options.waitsForConnectivity = true
        }
        let task = try await fixture.withEngine {
            $0.connectivity.retryDelay = .seconds(3600)
        } _: { _ in
            try await waits(fixture, id, .waitingForConnectivity)
            try await fixture.stores.testHooks.endWait(of: id, tenant: fixture.tenant)
            return try await fixture.ended(id)
        }
        #expect(task.state == .completed)
        #expect(task.attempt == 1)
    }

    /// What may have been stored for a tenant that is not for tests is not looked at.
    @Test func otherTenantsTransfer() async throws {
        let fixture = try await fixture(isForTests: false)
        let id = try await submit(fixture, failing: .connectionLost) { $0.options.attemptsMax = 1 }
        let task = try await fixture.withEngine { _ in try await fixture.ended(id) }
        #expect(task.state == .completed)
    }
}
