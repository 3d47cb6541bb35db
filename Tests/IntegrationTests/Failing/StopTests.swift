import Foundation
import Glibc
import Synchronization
import Testing
import TransferClient
import TransferTestSupport
import TransferWire

/// A process that is stopped for a while, as by a paused machine, which nobody else is to blame
/// for.
@Suite(.timeLimit(.minutes(5)), .serialized) struct StopTests {
    private static let body = OriginBody.random(seed: 11, size: 300_000)
    /// The seconds that a transfer waits for a byte.
    private static let timeout: Int64 = 2
    /// The longest time without a byte besides the stop: half of the timeout, as the transfer
    /// itself may be late too.
    private static let silenceMax: Duration = .seconds(1)
    /// The longest stop; after one of eight seconds the service gives its transfers up, as their
    /// leases may have ended.
    private static let stopMax: Duration = .seconds(7)

    private struct Stop {
        /// The latest moment at which it began.
        let start: ContinuousClock.Instant
        /// The earliest moment at which it ended.
        let end: ContinuousClock.Instant
        /// The longest time that it can have taken.
        let duration: Duration
    }

    /// Stops the service for longer than its transfers wait for a byte.
    private func stop(_ service: ServiceProcess) async throws -> Stop {
        let before = ContinuousClock.now
        service.pause()
        let start = ContinuousClock.now
        try await eventually("it was stopped for long", within: .seconds(60)) {
            ContinuousClock.now - start > .seconds(4)
        }
        let end = ContinuousClock.now
        service.resume()
        return Stop(start: start, end: end, duration: ContinuousClock.now - before)
    }

    @Test func aDownloadGoesOnAfterAStopLongerThanItsTimeout() async throws {
        let directory = try DataDirectory()
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        let service = try await ServiceProcess(in: directory)
        let client = try service.client(key: directory.apiKey())
        let options = OptionMembers(["timeout_for_request": .integer(Self.timeout)])
        let configuration = SessionConfigurationRequest(options: options)
        try await client.makeSession("s", SessionRequest(configuration: configuration))
        var round = 0
        try await eventually("a stop is as long as it is meant to be", within: .seconds(180)) {
            round += 1
            return try await downloadGoesOn("/\(round)", origin, service, client)
        }
        #expect(await service.terminate() == 0)
    }

    /// Checks a download of `path` during which the service is stopped.
    ///
    /// - Returns: false, and nothing was checked, if the stop or the silence around it took longer
    ///   than the service has to bear.
    private func downloadGoesOn(
        _ path: String,
        _ origin: LoopbackOrigin,
        _ service: ServiceProcess,
        _ client: TransferService
    ) async throws -> Bool {
        let gate = OriginGate()
        let askedAt = Mutex<ContinuousClock.Instant?>(nil)
        origin.when(path) { _ in
            askedAt.withLock { if $0 == nil { $0 = ContinuousClock.now } }
            return .gated(Self.body, after: 1000, gate)
        }
        let id = try #require(try await client.submit([origin.url(path)], to: "s").first)
        await origin.log.sent(1000, at: path)
        let stop = try await stop(service)
        // Bytes that come now are in time: the stop has cost the transfer nothing.
        gate.open()
        await origin.log.sent(Self.body.count, at: path)
        let sent = ContinuousClock.now
        try await eventually("the task has completed", within: .seconds(60)) {
            try await client.task(id).state == "completed"
        }
        let first = askedAt.withLock { $0 }
        let asked = try #require(first)
        let silence = (stop.start - asked) + (sent - stop.end)
        guard stop.duration < Self.stopMax, silence < Self.silenceMax else { return false }
        #expect(origin.log.now.requests(at: path).count == 1)
        #expect(try await client.task(id).attempt == 1)
        return true
    }
}
