import Curl
import Synchronization
import Testing
import TransferTestSupport

/// Transfers whose sinks and sources say `later`.
@Suite(.timeLimit(.minutes(2)))
struct CurlWaitTests {
    @Test func sinkGetsItsPiecesWhenItIsReady() async throws {
        let exchange = try Exchange()
        let body = OriginBody.random(seed: 11, size: 300_000)
        exchange.origin.when("/", .response(body: body))
        let (asked, signal) = AsyncStream.makeStream(of: Void.self)
        let sink = HesitantSink { signal.yield() }
        let transfer = exchange.loop.start(exchange.request("/"), sink: sink)
        let waiter = Task { for await _ in asked { transfer.proceed() } }
        defer { waiter.cancel() }
        let code = await sink.recorder.result?.code
        #expect(code == nil)
        #expect(OriginBody.sha256(of: sink.recorder.record.body) == body.sha256)
        #expect(sink.refusals >= 300_000 / (64 * 1024))
    }

    @Test(arguments: [true, false])
    func sourceIsAskedAgainWhenItIsReady(hasLength: Bool) async throws {
        let exchange = try Exchange()
        exchange.origin.when("/", .response())
        let bytes = OriginBody.random(seed: 12, size: 300_000).bytes
        let (asked, signal) = AsyncStream.makeStream(of: Void.self)
        let source = HesitantSource(bytes, hasLength: hasLength) { signal.yield() }
        var request = exchange.request("/", method: "PUT")
        request.bodySource = source
        let sink = RecordingSink()
        let transfer = exchange.loop.start(request, sink: sink)
        let waiter = Task { for await _ in asked { transfer.proceed() } }
        defer { waiter.cancel() }
        #expect(await sink.result?.code == nil)
        #expect(exchange.origin.log.now.requests.map(\.body) == [bytes])
        #expect(source.refusals >= 300_000 / (64 * 1024))
    }

    /// The wait is as long as another transfer's patience, which is longer than the time that the
    /// origin has; this is longer than what a loop may be late without excusing it.
    @Test func ownWaitIsNoInactivity() async throws {
        let exchange = try Exchange()
        let silent = try SilentListener()
        exchange.origin.when("/", .response(body: OriginBody.random(seed: 13, size: 20_000)))
        var request = exchange.request("/")
        request.inactivityTimeout = .milliseconds(2500)
        request.speedLimit = .init(bytesPerSecond: 1_000_000, period: .milliseconds(2500))
        var (sink, code) = await run(request, by: exchange, waitingFor: silent)
        // The origin itself was too late.
        while sink.refusals == 0, !Task.isCancelled {
            (sink, code) = await run(request, by: exchange, waitingFor: silent)
        }
        #expect(code == nil)
        #expect(sink.recorder.record.body.count == 20_000)
    }

    /// Runs a transfer whose sink is ready for each piece when another transfer, from a listener
    /// that never answers, has lost its patience.
    private func run(
        _ request: CurlRequest,
        by exchange: Exchange,
        waitingFor silent: SilentListener
    ) async -> (sink: HesitantSink, code: CurlError.Code?) {
        let (asked, signal) = AsyncStream.makeStream(of: Void.self)
        let sink = HesitantSink { signal.yield() }
        let transfer = exchange.loop.start(request, sink: sink)
        let waiter = Task {
            for await _ in asked {
                var request = CurlRequest(
                    url: "http://127.0.0.1:\(silent.port)/",
                    egress: .everywhere
                )
                request.inactivityTimeout = .seconds(3)
                let clock = RecordingSink()
                exchange.loop.start(request, sink: clock)
                #expect(await clock.result?.code == .timedOut(.inactivity))
                transfer.proceed()
            }
        }
        defer { waiter.cancel() }
        let code = await sink.recorder.result?.code
        return (sink, code)
    }

    /// What may wait for ever on our side still ends.
    @Test func waitEndsWithTheTransfersTime() async throws {
        let exchange = try Exchange()
        exchange.origin.when("/", .response(body: OriginBody.random(seed: 14, size: 50_000)))
        var request = exchange.request("/")
        request.totalTimeout = .milliseconds(300)
        let sink = HesitantSink {}
        exchange.loop.start(request, sink: sink)
        #expect(await sink.recorder.result?.code == .timedOut(.total))
    }
}

/// A sink that refuses each piece once.
private final class HesitantSink: CurlSink {
    let recorder = RecordingSink()
    private let state = Mutex((isReady: false, refusals: 0))
    private let onRefusal: @Sendable () -> Void

    init(onRefusal: @escaping @Sendable () -> Void) { self.onRefusal = onRefusal }

    var refusals: Int { state.withLock { $0.refusals } }

    func receive(head: ResponseHead) -> SinkVerdict { recorder.receive(head: head) }

    func receive(body: UnsafeRawBufferPointer) -> SinkVerdict {
        let isReady = state.withLock { state in
            state.isReady.toggle()
            if state.isReady { state.refusals += 1 }
            return !state.isReady
        }
        guard isReady else {
            onRefusal()
            return .later
        }
        return recorder.receive(body: body)
    }

    func finish(_ result: Result<CurlSummary, CurlError>) { recorder.finish(result) }
}

/// A body that is not there at every other call.
private final class HesitantSource: CurlBodySource {
    let length: Int64?
    private let bytes: [UInt8]
    private let state = Mutex((isReady: false, refusals: 0, position: 0))
    private let onRefusal: @Sendable () -> Void

    init(_ bytes: [UInt8], hasLength: Bool, onRefusal: @escaping @Sendable () -> Void) {
        self.bytes = bytes
        length = hasLength ? Int64(bytes.count) : nil
        self.onRefusal = onRefusal
    }

    var refusals: Int { state.withLock { $0.refusals } }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> BodyRead {
        let count: Int? = state.withLock { state in
            state.isReady.toggle()
            guard !state.isReady else {
                state.refusals += 1
                return nil
            }
            let piece = bytes[state.position...].prefix(buffer.count)
            buffer.copyBytes(from: piece)
            state.position += piece.count
            return piece.count
        }
        if count == nil { onRefusal() }
        return count.map(BodyRead.bytes) ?? .later
    }

    func rewind() -> Bool { false }
}
