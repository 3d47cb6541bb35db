import Curl
import Synchronization
import Testing
import TransferTestSupport

@Suite(.timeLimit(.minutes(5)))
struct CurlLoopTests {
    @Test func deliversHeadBodyAndSummary() async throws {
        let exchange = try Exchange()
        let body = OriginBody.random(seed: 7, size: 300_000)
        let (record, code) = await exchange.run(
            .response(headers: [("ETag", "\"a\""), ("X-Latin", "a")], body: body)
        )
        #expect(code == nil)
        #expect(record.heads.map(\.status) == [200])
        #expect(record.heads.first?["etag"] == "\"a\"")
        #expect(record.heads.first?.contentLength == 300_000)
        #expect(record.heads.first?.httpVersion == "1.1")
        #expect(OriginBody.sha256(of: record.body) == body.sha256)
        let summary = try #require(try record.results.first?.get())
        #expect(summary.bytesReceived == 300_000)
        #expect(summary.isLengthVerified)
        #expect(!summary.isConnectionReused)
        #expect(summary.primaryAddress == "127.0.0.1")
        #expect(summary.timings.total >= summary.timings.firstByte)
        #expect(summary.timings.firstByte > .zero)
    }

    @Test func keepsConnectionForNextTransfer() async throws {
        let exchange = try Exchange()
        exchange.origin.when("/", .response(body: .text("one")))
        let request = exchange.request("/")
        let first = try await exchange.loop.fetch(request, bodyMax: 10)
        let second = try await exchange.loop.fetch(request, bodyMax: 10)
        #expect(!first.summary.isConnectionReused)
        #expect(second.summary.isConnectionReused)
        #expect(exchange.origin.log.now.connectionsAccepted == 1)
    }

    @Test func carriesFiveHundredTransfersAtOnce() async throws {
        let exchange = try Exchange(connectionsMax: 500)
        let body = OriginBody.random(seed: 1, size: 20_000)
        let gate = OriginGate()
        exchange.origin.when("/", .gated(body, after: 10_000, gate))
        let sinks = (0..<500).map { _ in RecordingSink() }
        for sink in sinks { exchange.loop.start(exchange.request("/"), sink: sink) }
        await exchange.origin.log.wait { $0.requestsOpen == 500 }
        gate.open()
        for sink in sinks {
            #expect(await sink.result?.code == nil)
            #expect(OriginBody.sha256(of: sink.record.body) == body.sha256)
        }
    }

    @Test func refusesMoreTransfersThanItsBound() async throws {
        let exchange = try Exchange(connectionsMax: 1)
        let gate = OriginGate()
        exchange.origin.when("/", .gated(.text("ab"), after: 1, gate))
        let (first, second) = (RecordingSink(), RecordingSink())
        exchange.loop.start(exchange.request("/"), sink: first)
        exchange.loop.start(exchange.request("/"), sink: second)
        #expect(await second.result?.code == .tooManyTransfers)
        gate.open()
        #expect(await first.result?.code == nil)
    }

    @Test func startsNextTransferFromFinish() async throws {
        let exchange = try Exchange(connectionsMax: 1)
        exchange.origin.when("/", .response(body: .text("x")))
        let (loop, request) = (exchange.loop, exchange.request("/"))
        let second = RecordingSink()
        let first = RecordingSink(whenFinished: { loop.start(request, sink: second) })
        loop.start(request, sink: first)
        #expect(await second.result?.code == nil)
    }

    @Test func finishesEverythingWhenStopped() async throws {
        let exchange = try Exchange()
        let gate = OriginGate()
        exchange.origin.when("/", .gated(.text("ab"), after: 1, gate))
        let sinks = (0..<20).map { _ in RecordingSink() }
        for sink in sinks { exchange.loop.start(exchange.request("/"), sink: sink) }
        await exchange.origin.log.arrived(10)
        exchange.loop.stop()
        for sink in sinks { #expect(await sink.result?.code == .cancelled) }
        exchange.loop.stop()
    }

    @Test func finishesTransferStartedAfterStop() async throws {
        let exchange = try Exchange()
        exchange.loop.stop()
        let sink = RecordingSink()
        exchange.loop.start(exchange.request("/"), sink: sink).cancel()
        #expect(await sink.result?.code == .cancelled)
        #expect(sink.record.results.count == 1)
    }

    @Test func namesLibraryAndItsFeatures() {
        let library = CurlLoop.libraryVersion
        #expect(library.version.split(separator: ".").count == 3)
        // Name resolution without a separate thread would block the loop.
        #expect(library.features.contains("AsynchDNS"))
    }
}
