import Curl
import Testing
import TransferModel
import TransferTestSupport

@testable import TransferEngine

/// Fault T13: names, and their effects on tasks.
@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct EngineNameTests {
    private static let body = OriginBody.text("found")
    private static let unknown = "http://\(String(repeating: "a", count: 64)).test/file"

    private func run(
        _ url: String,
        _ fixture: EngineFixture,
        options: TransferOptions = TransferOptions(),
        configure: (inout EngineConfiguration) -> Void = { _ in }
    ) async throws -> TransferTask {
        fixture.origin.when("/file", .response(body: Self.body))
        let id = try await fixture.submit(url) { $0.options = options }
        return try await fixture.withEngine(configure) { _ in try await fixture.ended(id) }
    }

    @Test func anAddressThatRefusesIsNoFailureIfThereIsAnother() async throws {
        let fixture = try await EngineFixture()
        let task = try await run("http://localhost:\(fixture.origin.port)/file", fixture)
        #expect(task.state == .completed)
        #expect(task.attempt == 1)
    }

    @Test func aNameWithoutAnAddressIsTriedAgainAndThenFails() async throws {
        let fixture = try await EngineFixture()
        let task = try await run(Self.unknown, fixture)
        #expect(task.failure?.code == .couldNotResolveHost)
        #expect(task.attempt == 3)
    }

    @Test func aNameWithoutAnAddressMayBeWaitedFor() async throws {
        let fixture = try await EngineFixture()
        var options = TransferOptions()
        options.waitsForConnectivity = true
        let id = try await fixture.submit(Self.unknown) { $0.options = options }
        try await fixture.withEngine {
            // It still waits when it is looked at afterwards.
            $0.connectivity.retryDelay = .seconds(3600)
        } _: { _ in
            try await eventually("it waits") {
                try await fixture.task(id).state == .waitingForConnectivity
            }
        }
        #expect(try await fixture.task(id).failure?.code == .couldNotResolveHost)
    }

    @Test func aNameOfAForbiddenNetworkFailsAtOnce() async throws {
        let fixture = try await EngineFixture()
        let policy = EgressPolicy()
        let task = try await run("http://localhost:\(fixture.origin.port)/file", fixture) {
            $0.egress = EgressGuard { policy.allows($0.bytes) }
        }
        #expect(task.failure?.code == .egressDenied)
        #expect(task.attempt == 1)
        #expect(fixture.origin.log.now.connectionsAccepted == 0)
    }
}
