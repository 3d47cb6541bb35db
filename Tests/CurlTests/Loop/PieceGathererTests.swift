import Curl
import Synchronization
import Testing
import TransferTestSupport

/// Bodies for sinks that take several pieces as one.
@Suite(.timeLimit(.minutes(2))) struct PieceGathererTests {
    /// A sink that keeps the pieces as they come, and answers each by its number.
    private final class PieceSink: CurlSink {
        struct Record {
            var sizes: [Int] = []
            var body: [UInt8] = []
        }

        private let state = Mutex(Record())
        private let verdict: @Sendable (Int) -> SinkVerdict
        private let continuation: CheckedContinuation<(Record, CurlError.Code?), Never>

        init(
            _ continuation: CheckedContinuation<(Record, CurlError.Code?), Never>,
            verdict: @escaping @Sendable (Int) -> SinkVerdict
        ) {
            self.continuation = continuation
            self.verdict = verdict
        }

        var takesLargePieces: Bool { true }

        func receive(head: ResponseHead) -> SinkVerdict { .proceed }

        func receive(body: UnsafeRawBufferPointer) -> SinkVerdict {
            let number = state.withLock { state in
                state.sizes.append(body.count)
                state.body += body
                return state.sizes.count
            }
            return verdict(number)
        }

        func finish(_ result: Result<CurlSummary, CurlError>) {
            continuation.resume(returning: (state.withLock(\.self), result.code))
        }
    }

    private func run(
        _ request: CurlRequest,
        on loop: CurlLoop,
        verdict: @escaping @Sendable (Int) -> SinkVerdict = { _ in .proceed }
    ) async -> (record: PieceSink.Record, code: CurlError.Code?) {
        await withCheckedContinuation { continuation in
            loop.start(request, sink: PieceSink(continuation, verdict: verdict))
        }
    }

    @Test func bodiesArriveWholeInFewPieces() async throws {
        let exchange = try Exchange()
        let body = OriginBody.random(seed: 21, size: 8_000_001)
        exchange.origin.when("/", .response(body: body))
        let (record, code) = await run(exchange.request("/"), on: exchange.loop)
        #expect(code == nil)
        #expect(OriginBody.sha256(of: record.body) == body.sha256)
        // libcurl itself never gives more than 16 KiB at once.
        #expect(record.sizes.contains { $0 > 16 << 10 })
        #expect(record.sizes.allSatisfy { $0 <= 256 << 10 })
    }

    /// Each of them takes turns with the others.
    @Test func bodiesOfSeveralTransfersAreKeptApart() async throws {
        let exchange = try Exchange()
        let bodies = (0..<12).map { OriginBody.random(seed: 30 + $0, size: 1_500_000) }
        for (index, body) in bodies.enumerated() {
            exchange.origin.when("/\(index)", .response(body: body))
        }
        await withTaskGroup(of: Void.self) { group in
            for (index, body) in bodies.enumerated() {
                group.addTask {
                    let (record, code) = await run(
                        exchange.request("/\(index)"),
                        on: exchange.loop
                    )
                    #expect(code == nil)
                    #expect(OriginBody.sha256(of: record.body) == body.sha256)
                }
            }
        }
    }

    @Test func recordsOfTLSAreGathered() async throws {
        let authority = try await TestAuthority()
        let bytes = OriginBody.random(seed: 22, size: 3_000_000).bytes
        let head = Array("HTTP/1.1 200 OK\r\nContent-Length: \(bytes.count)\r\n\r\n".utf8)
        let server = try await TLSServer(authority.issue(), of: authority, .answer(head + bytes))
        let loop = try CurlLoop(name: "curl-test", certificateFile: authority.certificatePath)
        let (record, code) = await run(
            CurlRequest(url: server.url(), egress: .everywhere),
            on: loop
        )
        #expect(code == nil)
        #expect(record.body == bytes)
        #expect(record.sizes.contains { $0 > 16 << 10 })
    }

    /// Of a body that ends too early the sink has all that came.
    @Test func whatCameBeforeAFailureIsDelivered() async throws {
        let exchange = try Exchange()
        let body = OriginBody.random(seed: 23, size: 300_000)
        let head = OriginScript.Step.head(200, [("Content-Length", "300001")])
        exchange.origin.when("/", OriginScript([head, .body(body), .close]))
        let (record, code) = await run(exchange.request("/"), on: exchange.loop)
        #expect(code == .truncated)
        #expect(OriginBody.sha256(of: record.body) == body.sha256)
    }

    @Test(arguments: [SinkVerdict.abort, .later])
    func nothingFollowsARefusedPiece(verdict: SinkVerdict) async throws {
        let exchange = try Exchange()
        exchange.origin.when("/", .response(body: OriginBody.random(seed: 24, size: 4_000_000)))
        let (record, code) = await run(exchange.request("/"), on: exchange.loop) {
            $0 == 2 ? verdict : .proceed
        }
        #expect(code == .aborted)
        #expect(record.sizes.count == 2)
    }

    /// The refusal comes when libcurl has the whole body and takes the transfer for a success.
    @Test func theLastPieceCanBeRefused() async throws {
        let exchange = try Exchange()
        let body = OriginBody.random(seed: 25, size: 40_000)
        exchange.origin.when("/", .response(body: body))
        let (record, code) = await run(exchange.request("/"), on: exchange.loop) { _ in .abort }
        #expect(code == .aborted)
        #expect(record.sizes.count == 1)
    }

    /// An origin that waits after the refused piece gives libcurl no reason to call anyone.
    @Test func aRefusalEndsTheTransferAtOnce() async throws {
        let exchange = try Exchange()
        let gate = OriginGate()
        defer { gate.open() }
        let body = OriginBody.random(seed: 26, size: 100_000)
        exchange.origin.when("/", .gated(body, after: 40_000, gate))
        let (record, code) = await run(exchange.request("/"), on: exchange.loop) { _ in .abort }
        #expect(code == .aborted)
        #expect(record.body.count <= 40_000)
    }

    @Test func aRateHoldsBackWhatIsGathered() async throws {
        let exchange = try Exchange()
        let body = OriginBody.random(seed: 27, size: 400_000)
        exchange.origin.when("/", .response(body: body))
        var request = exchange.request("/")
        request.receiveRateMax = 400_000
        let started = ContinuousClock.now
        let (record, code) = await run(request, on: exchange.loop)
        #expect(code == nil)
        #expect(ContinuousClock.now - started >= .milliseconds(500))
        #expect(OriginBody.sha256(of: record.body) == body.sha256)
    }
}
