import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

@testable import TransferEngine

/// Claims over which the database fails.
@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct ClaimFailuresTests {
    private static func refuseClaims() async throws {
        try await EngineFixture.interfere(
            "BEFORE DELETE ON ready_run",
            "RAISE 'unexpected data' USING ERRCODE = 'XX000';"
        )
    }

    @Test func claimsThatKeepFailingAreTold() async throws {
        let fixture = try await EngineFixture()
        fixture.origin.when("/file", .response(body: .text("hello")))
        try await Self.refuseClaims()
        let id = try await fixture.submit(fixture.origin.url("/file"))
        let task = try await fixture.withEngine {
            $0.pollInterval = .milliseconds(20)
        } _: { engine in
            try await eventually("it is told") { engine.areClaimsFailing }
            try await EngineFixture.interfereNoLonger()
            let task = try await fixture.ended(id)
            #expect(!engine.areClaimsFailing)
            return task
        }
        #expect(task.state == .completed)
    }

    /// As when an operator pauses those over whose tasks the database fails.
    @Test func whatMayNotBeginFailsNoLonger() async throws {
        let fixture = try await EngineFixture()
        try await Self.refuseClaims()
        _ = try await fixture.submit(fixture.origin.url("/file"))
        try await fixture.withEngine {
            $0.pollInterval = .milliseconds(20)
        } _: { engine in
            try await eventually("it is told") { engine.areClaimsFailing }
            let pause = Pause(
                scope: Pause.Scope(tenant: fixture.tenant, host: nil),
                hostName: nil,
                isByTenant: false,
                givesBack: false,
                pausedAt: Date()
            )
            _ = try await PauseStore(fixture.stores.database).pause(pause)
            try await eventually("it is over") { !engine.areClaimsFailing }
        }
    }

    @Test func onlyTheThirdFailureInARowIsLogged() throws {
        let log = RecordingLog()
        let failures = ClaimFailures(logger: log.logger)
        func fail(
            _ times: Int,
            _ error: StoreError = .defect(PostgresError(decoding: "out of range"))
        ) {
            for _ in 0..<times { failures.failed(error) }
        }
        fail(2)
        failures.ended()
        fail(2)
        // A database that is away is another matter.
        fail(5, .unavailable(PostgresError(unsent: .connectionFailed, "away")))
        #expect(log.lines.isEmpty)
        #expect(!failures.isPersistent)
        fail(1)
        fail(3)
        #expect(failures.isPersistent)
        #expect(log.lines.map { $0.hasPrefix("error claims fail") } == [true])
        #expect(log.lines.allSatisfy { $0.contains("out of range") })
        failures.ended()
        failures.ended()
        #expect(!failures.isPersistent)
        #expect(log.lines.dropFirst() == ["notice claims no longer fail"])
    }
}
