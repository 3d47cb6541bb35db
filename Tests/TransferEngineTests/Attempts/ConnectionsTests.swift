import Curl
import Foundation
import Synchronization
import Testing
import TransferTestSupport

@testable import TransferEngine

/// The requests of one attempt.
@Suite struct ConnectionsTests {
    @Test func anAbandonedAttemptMakesNoRequest() async throws {
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        let loop = try CurlLoop(name: "abandoned")
        defer { loop.stop() }
        let connections = Connections()
        connections.begin(on: loop)
        connections.abandon()
        let request = CurlRequest(url: origin.url("/never"), egress: EgressGuard { _ in true })
        let result = await withCheckedContinuation { continuation in
            connections.start(request, sink: EndSink(continuation))
        }
        #expect(throws: CurlError.self) { try result.get() }
        #expect(origin.log.now.requests(at: "/never").isEmpty)
    }

    /// The first question comes from the attempt, the second from the loop; whatever the answers
    /// are later, the attempt is given back.
    @Test(arguments: [1, 2])
    func whatMayNotBeginOnceMakesNoRequest(refused: Int) async throws {
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        let loop = try CurlLoop(name: "late")
        defer { loop.stop() }
        let asked = Mutex(0)
        let connections = Connections {
            asked.withLock { asked in
                asked += 1
                return asked != refused
            }
        }
        connections.begin(on: loop)
        let request = CurlRequest(url: origin.url("/never"), egress: EgressGuard { _ in true })
        for _ in 0..<2 {
            let result = await withCheckedContinuation { continuation in
                connections.start(request, sink: EndSink(continuation))
            }
            #expect(connections.isRefusal(result))
            #expect(!connections.isOpen)
        }
        #expect(origin.log.now.connectionsAccepted == 0)
    }

    @Test func whatHasNotBegunMakesNoRequest() async throws {
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        let connections = Connections()
        let request = CurlRequest(url: origin.url("/never"), egress: EgressGuard { _ in true })
        let result = await withCheckedContinuation { continuation in
            connections.start(request, sink: EndSink(continuation))
        }
        guard case .failure(let error) = result else { throw CancellationError() }
        #expect(error.code == .cancelled)
        #expect(origin.log.now.connectionsAccepted == 0)
    }

    /// The first request ends and leads to the next one before whoever has started it goes on, as
    /// happens when that is another thread than the loop's.
    @Test(.timeLimit(.minutes(1))) func theNextRequestIsTheOneThatIsStopped() async throws {
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        let gate = OriginGate()
        defer { gate.open() }
        origin.when("/next") { _ in OriginScript([.wait(gate)]) }
        let stopped = try CurlLoop(name: "stopped")
        stopped.stop()
        let loop = try CurlLoop(name: "next")
        defer { loop.stop() }
        let connections = Connections()
        connections.begin(on: stopped)
        func request(_ path: String) -> CurlRequest {
            CurlRequest(url: origin.url(path), egress: EgressGuard { _ in true })
        }
        let next = request("/next")
        let result = await withCheckedContinuation { continuation in
            let first = LeadingSink {
                connections.begin(on: loop)
                connections.start(next, sink: EndSink(continuation))
            }
            connections.start(request("/first"), sink: first)
            Task {
                await origin.log.arrived(1, at: "/next")
                connections.cancel(0)
            }
        }
        guard case .failure(let error) = result else { throw CancellationError() }
        #expect(error.code == .cancelled)
    }

    /// A sink whose end leads on.
    private final class LeadingSink: CurlSink {
        private let next: @Sendable () -> Void

        init(next: @escaping @Sendable () -> Void) { self.next = next }

        func receive(head: ResponseHead) -> SinkVerdict { .proceed }
        func receive(body: UnsafeRawBufferPointer) -> SinkVerdict { .proceed }
        func finish(_ result: Result<CurlSummary, CurlError>) { next() }
    }

    private final class EndSink: CurlSink {
        private let continuation: CheckedContinuation<Result<CurlSummary, CurlError>, Never>

        init(_ continuation: CheckedContinuation<Result<CurlSummary, CurlError>, Never>) {
            self.continuation = continuation
        }

        func receive(head: ResponseHead) -> SinkVerdict { .proceed }
        func receive(body: UnsafeRawBufferPointer) -> SinkVerdict { .proceed }

        func finish(_ result: Result<CurlSummary, CurlError>) {
            continuation.resume(returning: result)
        }
    }
}
