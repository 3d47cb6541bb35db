import Synchronization
import Testing
import TransferTestSupport

@testable import Curl

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
        private let whenFinished: @Sendable (Record, CurlError.Code?) -> Void

        init(
            verdict: @escaping @Sendable (Int) -> SinkVerdict = { _ in .proceed },
            whenFinished: @escaping @Sendable (Record, CurlError.Code?) -> Void = { _, _ in }
        ) {
            self.verdict = verdict
            self.whenFinished = whenFinished
        }

        var record: Record { state.withLock(\.self) }

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

        func finish(_ result: Result<CurlSummary, CurlError>) { whenFinished(record, result.code) }
    }

    private func run(
        _ request: CurlRequest,
        on loop: CurlLoop,
        verdict: @escaping @Sendable (Int) -> SinkVerdict = { _ in .proceed }
    ) async -> (record: PieceSink.Record, code: CurlError.Code?) {
        await withCheckedContinuation { continuation in
            loop.start(
                request,
                sink: PieceSink(verdict: verdict) { continuation.resume(returning: ($0, $1)) }
            )
        }
    }

    /// Returns a transfer that has a head, and to which the test gives pieces in place of libcurl.
    private func transfer(to sink: PieceSink, _ gatherer: PieceGatherer) throws -> ActiveTransfer {
        try #require(CurlLibrary.isInitialized)
        let request = CurlRequest(url: "http://127.0.0.1:9/", egress: .everywhere)
        let transfer = ActiveTransfer(
            id: 1,
            TransferStart(request, url: try request.validated(), sink: sink, at: .now),
            route: nil,
            easy: try EasyHandle(),
            sockets: OpenSockets(),
            proxyAnswers: ProxyAnswers(),
            debtors: Debtors(),
            gatherer: gatherer
        )
        for line in ["HTTP/1.1 200 OK\r\n", "\r\n"] {
            let isTaken = Array(line.utf8).withUnsafeBytes { transfer.receive(headerLine: $0) }
            try #require(isTaken)
        }
        return transfer
    }

    private func give(_ piece: ArraySlice<UInt8>, to transfer: ActiveTransfer) -> Bool {
        piece.withUnsafeBytes { transfer.receive(body: $0) } == .taken
    }

    @Test func whatIsDeliveredBeforeTheEndOfATurnEndsAtAMultiple() throws {
        let gatherer = PieceGatherer()
        let sink = PieceSink()
        let transfer = try transfer(to: sink, gatherer)
        let body = OriginBody.random(seed: 28, size: 1_000_000).bytes
        var rest = body[...]
        // The first one is what was left beside the head.
        for size in [16_100] + Array(repeating: 16_384, count: 60) {
            #expect(give(rest.prefix(size), to: transfer))
            rest = rest.dropFirst(size)
        }
        let before = sink.record
        #expect(!before.sizes.isEmpty)
        #expect(before.sizes.allSatisfy { $0 % 65_536 == 0 })
        gatherer.deliver()
        #expect(sink.record.body == Array(body.dropLast(rest.count)))
    }

    @Test(arguments: [65_535, 65_536, 300_000])
    func aLargePieceIsDeliveredBehindTheOthers(size: Int) throws {
        let gatherer = PieceGatherer()
        let sink = PieceSink()
        let transfer = try transfer(to: sink, gatherer)
        let body = OriginBody.random(seed: 29, size: 20_000 + 5 * size).bytes
        #expect(give(body.prefix(20_000), to: transfer))
        for number in 0..<5 {
            #expect(give(body.dropFirst(20_000 + number * size).prefix(size), to: transfer))
        }
        gatherer.deliver()
        #expect(sink.record.body == body)
    }

    @Test func aTransferThatWasRefusedGetsNothingMore() throws {
        let gatherer = PieceGatherer()
        let sinks = (PieceSink { _ in .abort }, PieceSink())
        let refused = try transfer(to: sinks.0, gatherer)
        let other = try transfer(to: sinks.1, gatherer)
        let body = OriginBody.random(seed: 20, size: 10_000).bytes
        #expect(give(body[...], to: refused))
        // Another one's turn delivers it.
        #expect(give(body[...], to: other))
        #expect(!give(body[...], to: refused))
        gatherer.deliver()
        #expect(sinks.0.record.sizes == [10_000])
        #expect(sinks.1.record.body == body)
        #expect(gatherer.takeRefused().map(ObjectIdentifier.init) == [ObjectIdentifier(refused)])
        #expect(gatherer.takeRefused().isEmpty)
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
        let server = try await TLSServer(authority.issue(), of: authority, .answer(body: bytes))
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
        request.sharedRates = [SharedRate(400_000)]
        let started = ContinuousClock.now
        let (record, code) = await run(request, on: exchange.loop)
        #expect(code == nil)
        #expect(ContinuousClock.now - started >= .milliseconds(500))
        #expect(OriginBody.sha256(of: record.body) == body.sha256)
    }
}
