import Foundation
import Glibc
import Testing
import TransferClient
import TransferTestSupport
import TransferWire

/// A process that is stopped for a while, as by a paused machine, which nobody else is to blame
/// for.
@Suite(.timeLimit(.minutes(5)), .serialized) struct StopTests {
    private static let body = OriginBody.random(seed: 11, size: 300_000)

    /// Stops the service for longer than its transfers wait for a byte.
    private func stop(_ service: ServiceProcess, _ duration: Duration) async throws {
        service.pause()
        let paused = ContinuousClock.now
        try await eventually("it was stopped for long", within: .seconds(60)) {
            .now - paused > duration
        }
        service.resume()
    }

    @Test func aDownloadGoesOnAfterAStopLongerThanItsTimeout() async throws {
        let directory = try DataDirectory()
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        let gate = OriginGate()
        origin.when("/file", .gated(Self.body, after: 1000, gate))
        let service = try await ServiceProcess(in: directory)
        let client = try service.client(key: directory.apiKey())
        let options = OptionMembers(["timeout_for_request": .integer(2)])
        let configuration = SessionConfigurationRequest(options: options)
        try await client.makeSession("s", SessionRequest(configuration: configuration))
        let id = try #require(try await client.submit([origin.url("/file")], to: "s").first)
        await origin.log.arrived(1, at: "/file")
        // The stop is shorter than its lease.
        try await stop(service, .seconds(4))
        // Bytes that come now are in time: the stop has cost the transfer nothing.
        gate.open()
        try await eventually("the task has completed", within: .seconds(60)) {
            try await client.task(id).state == "completed"
        }
        #expect(origin.log.now.requests(at: "/file").count == 1)
        #expect(try await client.task(id).attempt == 1)
        #expect(await service.terminate() == 0)
    }
}
