import Curl
import Testing
import TransferTestSupport

@Suite(.timeLimit(.minutes(5)))
struct CurlCancellationTests {
    @Test func cancelsBeforeRequestArrives() async throws {
        let exchange = try Exchange()
        exchange.origin.when("/", .response())
        exchange.origin.when("/never", OriginScript([.wait(OriginGate())]))
        let sink = RecordingSink()
        let transfer = exchange.loop.start(exchange.request("/never"), sink: sink)
        transfer.cancel()
        transfer.cancel()
        #expect(await sink.result?.code == .cancelled)
        await expectLoopIsIdle(exchange.loop, exchange.request("/"))
        #expect(sink.record.results.count == 1)
    }

    @Test func cancelsWhileHeadIsAwaited() async throws {
        let exchange = try Exchange()
        exchange.origin.when("/", OriginScript([.wait(OriginGate())]))
        exchange.origin.when("/next", .response())
        let sink = RecordingSink()
        let transfer = exchange.loop.start(exchange.request("/"), sink: sink)
        await exchange.origin.log.arrived(1)
        transfer.cancel()
        #expect(await sink.result?.code == .cancelled)
        #expect(sink.record.heads.isEmpty)
        // Nobody else can use the connection, so it must be closed.
        await exchange.origin.log.wait { $0.connectionsOpen == 0 }
    }

    @Test func cancelsWithinBody() async throws {
        let exchange = try Exchange()
        exchange.origin.when("/", .gated(.text("abcd"), after: 2, OriginGate()))
        let (stream, headArrived) = AsyncStream.makeStream(of: Void.self)
        let sink = RecordingSink(whenHeadArrives: { headArrived.yield() })
        let transfer = exchange.loop.start(exchange.request("/"), sink: sink)
        for await _ in stream { break }
        transfer.cancel()
        #expect(await sink.result?.code == .cancelled)
        await exchange.origin.log.wait { $0.connectionsOpen == 0 }
        #expect(sink.record.results.count == 1)
    }

    @Test func cancellationFromSinkIsHonoured() async throws {
        let exchange = try Exchange()
        exchange.origin.when("/", .response(body: .text("abcd")))
        let sink = RecordingSink(verdictAtHead: .abort)
        exchange.loop.start(exchange.request("/"), sink: sink)
        #expect(await sink.result?.code == .aborted)
        #expect(sink.record.body.isEmpty)
    }

    @Test func finishesOnceWhenRacingWithCompletion() async throws {
        let exchange = try Exchange(connectionsMax: 300)
        exchange.origin.when("/", .response(body: .text("abcd")))
        let sinks = (0..<300).map { _ in RecordingSink() }
        await withTaskGroup { group in
            for sink in sinks {
                let transfer = exchange.loop.start(exchange.request("/"), sink: sink)
                group.addTask { transfer.cancel() }
                group.addTask { transfer.cancel() }
            }
        }
        for sink in sinks {
            let code = await sink.result?.code
            #expect(code == nil || code == .cancelled)
        }
        await expectLoopIsIdle(exchange.loop, exchange.request("/"))
        #expect(sinks.allSatisfy { $0.record.results.count == 1 })
    }

    @Test func cancellingAfterEndChangesNothing() async throws {
        let exchange = try Exchange()
        exchange.origin.when("/", .response())
        let sink = RecordingSink()
        let transfer = exchange.loop.start(exchange.request("/"), sink: sink)
        #expect(await sink.result?.code == nil)
        transfer.cancel()
        await expectLoopIsIdle(exchange.loop, exchange.request("/"))
        #expect(sink.record.results.count == 1)
    }

    @Test func cancelledTaskEndsItsFetch() async throws {
        let exchange = try Exchange()
        exchange.origin.when("/", OriginScript([.wait(OriginGate())]))
        let (loop, request) = (exchange.loop, exchange.request("/"))
        let fetch = Task { () async throws(CurlError) in try await loop.fetch(request, bodyMax: 1) }
        await exchange.origin.log.arrived(1)
        fetch.cancel()
        let result = await fetch.result
        #expect(throws: CurlError.self) { try result.get() }
        await exchange.origin.log.wait { $0.connectionsOpen == 0 }
    }

    @Test func fetchOfCancelledTaskEndsAtOnce() async throws {
        let exchange = try Exchange()
        exchange.origin.when("/", OriginScript([.wait(OriginGate())]))
        let (loop, request) = (exchange.loop, exchange.request("/"))
        let fetch = Task { () async throws(CurlError) in
            withUnsafeCurrentTask { $0?.cancel() }
            return try await loop.fetch(request, bodyMax: 1)
        }
        let result = await fetch.result
        #expect(throws: CurlError.self) { try result.get() }
    }

    /// Returns once everything posted to the loop before this call has been done.
    private func expectLoopIsIdle(_ loop: CurlLoop, _ request: CurlRequest) async {
        _ = try? await loop.fetch(request, bodyMax: 10)
    }
}
