import Testing
import TransferModel
import TransferStore
import TransferTestSupport

@testable import TransferEngine

/// Outages of an origin, which fail no task of a background session.
@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct EngineOutageTests {
    private static let body = OriginBody.text("back again")

    /// The maximum number of attempts for failures that do not pass by themselves.
    private static let attemptsMax = 3

    private static func hurry(_ configuration: inout EngineConfiguration) {
        configuration.retryPolicy = RetryPolicy(
            attemptsMax: attemptsMax,
            delayBase: .milliseconds(20),
            delayMax: .milliseconds(50)
        )
        configuration.connectivity.retryDelay = .milliseconds(20)
        configuration.connectivity.failuresMin = 8
        configuration.connectivity.silenceMin = .zero
        configuration.connectivity.probeDelayBase = .milliseconds(50)
        configuration.connectivity.probeDelayMax = .milliseconds(100)
    }

    private func fixture() async throws -> EngineFixture {
        let fixture = try await EngineFixture()
        try await fixture.putSession()
        return fixture
    }

    @Test(arguments: [500, 502, 429])
    func anOutageIsOutlasted(status: Int) async throws {
        let fixture = try await fixture()
        fixture.origin.when("/file", .response(status))
        let id = try await fixture.submit(fixture.origin.url("/file"))
        try await fixture.withEngine(Self.hurry) { _ in
            try await eventually("more attempts than for other failures") {
                try await fixture.task(id).attempt > Self.attemptsMax
            }
            fixture.origin.when("/file", .response(body: Self.body))
            try await fixture.expectCompletion([id])
        }
    }

    @Test func aBrokenConnectionIsOutlasted() async throws {
        let fixture = try await fixture()
        fixture.origin.when("/file", OriginScript([.reset]))
        let id = try await fixture.submit(fixture.origin.url("/file"))
        try await fixture.withEngine(Self.hurry) { _ in
            try await eventually("more attempts than for other failures") {
                try await fixture.task(id).attempt > Self.attemptsMax
            }
            fixture.origin.when("/file", .response(body: Self.body))
            try await fixture.expectCompletion([id])
        }
    }

    /// All tasks wait with the host; only probes reach it.
    @Test func aHostThatIsOutOfServiceIsClosed() async throws {
        let fixture = try await fixture()
        fixture.origin.when("/file", .response(503))
        var ids: [TaskID] = []
        for _ in 0..<20 { ids.append(try await fixture.submit(fixture.origin.url("/file"))) }
        try await fixture.withEngine(Self.hurry) { [ids] _ in
            for id in ids {
                try await eventually("it waits for its host") {
                    try await fixture.task(id).state == .waitingForConnectivity
                }
            }
            let attempts = try await fixture.task(ids[0]).attempt
            let before = fixture.origin.log.now.requests.count
            try await eventually("probes are answered") {
                fixture.origin.log.now.requests.count > before + 3
            }
            #expect(try await fixture.task(ids[0]).attempt <= attempts + 1)
            fixture.origin.when("/file", .response(body: Self.body))
            try await fixture.expectCompletion(ids)
            try await eventually("clients are told that it is open") {
                let hosts = try await fixture.stores.hosts.hosts(
                    tenant: fixture.tenant,
                    after: nil,
                    limit: 1
                )
                return hosts.first?.isClosed == false
            }
        }
    }

    @Test func aCountOfAttemptsIsAnOption() async throws {
        let fixture = try await fixture()
        fixture.origin.when("/file", .response(500))
        let id = try await fixture.submit(fixture.origin.url("/file")) {
            $0.options.attemptsMax = 2
        }
        try await fixture.withEngine(Self.hurry) { _ in
            let task = try await fixture.ended(id)
            #expect(task.state == .failed)
            #expect(task.attempt == 2)
        }
    }

    @Test func wrongBytesAreNotFetchedForDays() async throws {
        let fixture = try await fixture()
        fixture.origin.when("/file", .response(body: Self.body))
        let wrong = try #require(Checksum(.sha256, bytes: Array(repeating: 0, count: 32)))
        let id = try await fixture.submit(fixture.origin.url("/file")) {
            $0.options.checksums = [wrong]
        }
        try await fixture.withEngine(Self.hurry) { _ in
            let task = try await fixture.ended(id)
            #expect(task.failure?.code == .checksumMismatch)
            #expect(task.attempt == Self.attemptsMax)
        }
    }
}
