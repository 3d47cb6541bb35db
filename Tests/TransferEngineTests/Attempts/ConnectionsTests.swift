import Curl
import Foundation
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
        connections.abandon()
        let request = CurlRequest(url: origin.url("/never"), egress: EgressGuard { _ in true })
        let result = await withCheckedContinuation { continuation in
            connections.start(request, on: loop, sink: EndSink(continuation))
        }
        #expect(throws: CurlError.self) { try result.get() }
        #expect(origin.log.now.requests(at: "/never").isEmpty)
    }

    @Test func whatMayNotBeginAnyMoreMakesNoRequest() async throws {
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        let loop = try CurlLoop(name: "late")
        defer { loop.stop() }
        let connections = Connections { false }
        let request = CurlRequest(url: origin.url("/never"), egress: EgressGuard { _ in true })
        let result = await withCheckedContinuation { continuation in
            connections.start(request, on: loop, sink: EndSink(continuation))
        }
        #expect(connections.isRefusal(result))
        #expect(origin.log.now.connectionsAccepted == 0)
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
