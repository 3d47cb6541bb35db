import Synchronization
import Testing
import TransferTestSupport

@testable import Curl

/// Tests that compare times only in the direction that a slow machine cannot spoil.
@Suite(.timeLimit(.minutes(5)))
struct CurlRateTests {
    @Test func receivesNoFasterThanItsRate() async throws {
        let exchange = try Exchange()
        let body = OriginBody.random(seed: 3, size: 400_000)
        let started = ContinuousClock.now
        let (record, code) = await exchange.run(.response(body: body)) {
            $0.sharedRates = [SharedRate(200_000)]
        }
        #expect(code == nil)
        #expect(ContinuousClock.now - started >= .seconds(1))
        #expect(OriginBody.sha256(of: record.body) == body.sha256)
    }

    @Test func keepsRateOfChunks() async throws {
        let exchange = try Exchange()
        let body = OriginBody.random(seed: 3, size: 200_000)
        let head = OriginScript.Step.head(200, [("Transfer-Encoding", "chunked")])
        let started = ContinuousClock.now
        let (record, code) = await exchange.run(
            OriginScript([head, .chunks(body, size: 5000)])
        ) { $0.sharedRates = [SharedRate(200_000)] }
        #expect(code == nil)
        #expect(ContinuousClock.now - started >= .milliseconds(500))
        #expect(OriginBody.sha256(of: record.body) == body.sha256)
    }

    /// Bytes that the TLS library already holds wake nobody.
    @Test func keepsRateOverTLS() async throws {
        let authority = try await TestAuthority()
        let bytes = OriginBody.random(seed: 9, size: 200_000).bytes
        let server = try await TLSServer(authority.issue(), of: authority, .answer(body: bytes))
        let loop = try CurlLoop(name: "curl-test", certificateFile: authority.certificatePath)
        var request = CurlRequest(url: server.url(), egress: .everywhere)
        request.sharedRates = [SharedRate(200_000)]
        let started = ContinuousClock.now
        let response = try await loop.fetch(request, bodyMax: bytes.count)
        #expect(ContinuousClock.now - started >= .milliseconds(500))
        #expect(response.body == bytes)
    }

    @Test func keepsStreamWithRateOffUnsoundVersion() {
        var request = CurlRequest(url: "https://example.com/", egress: .everywhere)
        #expect(!request.offersHTTP2)
        request.httpVersion = .negotiated
        #expect(request.offersHTTP2)
        request.sharedRates = [SharedRate(1)]
        #expect(request.offersHTTP2 == CurlLoop.libraryVersion.isHTTP2Sound)
    }

    @Test(arguments: [true, false])
    func sendsNoFasterThanItsRate(fromSource: Bool) async throws {
        let exchange = try Exchange()
        exchange.origin.when("/", .response())
        let bytes = OriginBody.random(seed: 4, size: 400_000).bytes
        var request = exchange.request("/", method: "PUT", body: fromSource ? nil : bytes)
        if fromSource { request.bodySource = BytesSource(bytes) }
        request.sharedRates = [SharedRate(200_000)]
        let started = ContinuousClock.now
        let response = try await exchange.loop.fetch(request, bodyMax: 10)
        #expect(response.head.status == 200)
        #expect(ContinuousClock.now - started >= .seconds(1))
        #expect(exchange.origin.log.now.requests.map(\.body) == [bytes])
    }

    @Test func ownPausesAreNoInactivity() async throws {
        // Each piece of 16 KiB owes a pause that is longer than the timeout, which is itself longer
        // than what a loop may be late without excusing it.
        let exchange = try Exchange()
        let body = OriginBody.random(seed: 5, size: 40_000)
        let (record, code) = await exchange.run(.response(body: body)) {
            $0.sharedRates = [SharedRate(6000)]
            $0.inactivityTimeout = .milliseconds(2500)
        } again: {
            $0.body.isEmpty
        }
        #expect(code == nil)
        #expect(record.body.count == 40_000)
    }

    @Test func originThatStallsBetweenPausesIsInactive() async throws {
        let exchange = try Exchange()
        let body = OriginBody.random(seed: 5, size: 60_000)
        let (_, code) = await exchange.run(.gated(body, after: 30_000, OriginGate())) {
            $0.sharedRates = [SharedRate(1_000_000)]
            $0.inactivityTimeout = .milliseconds(50)
        }
        #expect(code == .timedOut(.inactivity))
    }

    /// At the first rate the rest would take weeks.
    @Test(arguments: [nil, 1 << 30])
    func raisedRateHoldsAtOnce(rate: Int64?) async throws {
        let exchange = try Exchange()
        let body = OriginBody.random(seed: 6, size: 3_000_000)
        exchange.origin.when("/", .response(body: body))
        var request = exchange.request("/")
        request.sharedRates = [SharedRate(1)]
        let sink = RecordingSink()
        let transfer = exchange.loop.start(request, sink: sink)
        await exchange.origin.log.arrived(1)
        try await eventually("the first bytes") { !sink.record.body.isEmpty }
        transfer.share(rate.map { [SharedRate($0)] } ?? [])
        #expect(await sink.result?.code == nil)
        #expect(OriginBody.sha256(of: sink.record.body) == body.sha256)
    }

    @Test func raisedRateHoldsAtOnceForSending() async throws {
        let exchange = try Exchange()
        exchange.origin.when("/", .response())
        let source = BytesSource(OriginBody.random(seed: 7, size: 3_000_000).bytes)
        var request = exchange.request("/", method: "PUT")
        request.bodySource = source
        request.sharedRates = [SharedRate(1)]
        let sink = RecordingSink()
        let transfer = exchange.loop.start(request, sink: sink)
        try await eventually("the first bytes") { source.bytesRead > 0 }
        transfer.share([])
        #expect(await sink.result?.code == nil)
        #expect(exchange.origin.log.now.requests.map(\.bodyCount) == [3_000_000])
    }

    @Test func loweredRateStopsStream() async throws {
        let exchange = try Exchange()
        exchange.origin.when(
            "/",
            OriginScript([.head(200), .forever([UInt8](repeating: 0x61, count: 65_536))])
        )
        let (limited, done) = (RecordingSink(), RecordingSink())
        let transfer = exchange.loop.start(exchange.request("/"), sink: limited)
        try await eventually("a fast stream") { limited.record.body.count > 1_000_000 }
        transfer.share([SharedRate(1)])
        // The loop serves requests in order, so the limit is in force when this one has ended.
        exchange.origin.when("/other", .response())
        exchange.loop.start(exchange.request("/other"), sink: done)
        #expect(await done.result?.code == nil)
        let count = limited.record.body.count
        for _ in 0..<20 {
            _ = try await exchange.loop.fetch(exchange.request("/other"), bodyMax: 10)
        }
        // One piece may pass before the excess is noticed.
        #expect(limited.record.body.count - count <= 64 * 1024)
        transfer.cancel()
        #expect(await limited.result?.code == .cancelled)
    }

    @Test func endsWhilePaused() async throws {
        let exchange = try Exchange()
        let body = OriginBody.random(seed: 8, size: 3_000_000)
        exchange.origin.when("/", .response(body: body))
        var request = exchange.request("/")
        request.sharedRates = [SharedRate(1)]
        request.totalTimeout = .milliseconds(100)
        let sink = RecordingSink()
        exchange.loop.start(request, sink: sink)
        #expect(await sink.result?.code == .timedOut(.total))
    }

    @Test func lastBytesDoNotWait() async throws {
        // The whole body comes at once, and nothing is left to hold back.
        let exchange = try Exchange()
        let body = OriginBody.random(seed: 10, size: 100)
        let (record, code) = await exchange.run(.response(body: body)) {
            $0.sharedRates = [SharedRate(1)]
            $0.totalTimeout = .seconds(60)
        }
        #expect(code == nil)
        #expect(record.body.count == 100)
    }
}

/// A body from memory, read as a source.
private final class BytesSource: CurlBodySource {
    let length: Int64?
    private let bytes: [UInt8]
    private let position = Mutex(0)

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        length = Int64(bytes.count)
    }

    var bytesRead: Int { position.withLock { $0 } }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> BodyRead {
        position.withLock { position in
            let piece = bytes[position...].prefix(buffer.count)
            buffer.copyBytes(from: piece)
            position += piece.count
            return .bytes(piece.count)
        }
    }

    func rewind() -> Bool {
        position.withLock { $0 = 0 }
        return true
    }
}
