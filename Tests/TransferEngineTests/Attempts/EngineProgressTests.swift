import Foundation
import Testing
import TransferEngine
import TransferModel
import TransferTestSupport

/// The progress reported of a task while it runs.
@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct EngineProgressTests {
    private static let body = OriginBody.random(seed: 91, size: 1_000_000)

    @Test func eventsOfProgressRunForwardAndStopBeforeTheEnd() async throws {
        let fixture = try await EngineFixture()
        var configuration = SessionConfiguration()
        configuration.options.progressInterval = .seconds(1)
        try await fixture.putSession(configuration)
        let gates = [OriginGate(), OriginGate()]
        fixture.origin.when(
            "/file",
            OriginScript([
                .head(200, [("Content-Length", "1000000")]), .body(Self.body, 0..<300_000),
                .wait(gates[0]), .body(Self.body, 300_000..<700_000), .wait(gates[1]),
                .body(Self.body, 700_000..<1_000_000),
            ])
        )
        let id = try await fixture.submit(fixture.origin.url("/file"))
        try await fixture.withEngine { _ in
            for (count, gate) in zip([300_000, 700_000] as [Int64], gates) {
                try await eventually("an event of \(count) bytes") {
                    try await fixture.progress().last?.bytesReceived == count
                }
                gate.open()
            }
            #expect(try await fixture.ended(id).state == .completed)
        }
        let told = try await fixture.progress()
        #expect(told.map(\.bytesReceived) == told.map(\.bytesReceived).sorted())
        #expect(Set(told.map(\.bytesReceived)).count == told.count)
        #expect(told.allSatisfy { $0.progress?.bytesExpected == 1_000_000 })
        let kinds = try await fixture.events().map(\.kind)
        let end = try #require(kinds.firstIndex(of: .taskDownloadFinished))
        #expect(!kinds[end...].contains(.taskProgress))
    }

    @Test func withoutAnIntervalThereAreNone() async throws {
        let fixture = try await EngineFixture()
        let gate = OriginGate()
        fixture.origin.when("/file", .gated(Self.body, after: 300_000, gate))
        let id = try await fixture.submit(fixture.origin.url("/file"))
        try await fixture.withEngine { _ in
            try await fixture.received(300_000, of: id)
            // The rate was measured, and then the task was seen to make no progress.
            try await eventually("its pace is told") {
                try await fixture.task(id).bytesPerSecond == 0
            }
            gate.open()
            #expect(try await fixture.ended(id).state == .completed)
        }
        #expect(try await fixture.progress().isEmpty)
    }
}

extension EngineFixture {
    /// Returns the contents of the progress events, in order.
    fileprivate func progress() async throws -> [SessionEvent.TaskSnapshot] {
        try await events().filter { $0.kind == .taskProgress }.compactMap(\.task)
    }
}
