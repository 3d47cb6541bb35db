import Curl
import Foundation
import Synchronization
import Testing
import TransferTestSupport

@Suite(.timeLimit(.minutes(5)))
struct CurlEgressTests {
    @Test func refusesNewConnection() async throws {
        let exchange = try Exchange()
        let (_, code) = await exchange.run(.response()) { $0.egress = .nowhere }
        #expect(code == .egressDenied)
        #expect(exchange.origin.log.now.connectionsAccepted == 0)
    }

    @Test func refusesConnectionKeptByAnotherTransfer() async throws {
        let exchange = try Exchange()
        exchange.origin.when("/", .response(body: .text("first")))
        exchange.origin.when("/secret", .response(body: .text("secret")))
        _ = try await exchange.loop.fetch(exchange.request("/"), bodyMax: 10)
        var request = exchange.request("/secret")
        request.egress = .nowhere
        let sink = RecordingSink()
        exchange.loop.start(request, sink: sink)
        #expect(await sink.result?.code == .egressDenied)
        #expect(exchange.origin.log.now.requests(at: "/secret").isEmpty)
    }

    /// Another address of the host may be open to it, or the same by now.
    @Test func aKeptConnectionThatItMayNotUseIsLeftForOneOfItsOwn() async throws {
        let exchange = try Exchange()
        exchange.origin.when("/", .response(body: .text("found")))
        _ = try await exchange.loop.fetch(exchange.request("/"), bodyMax: 10)
        let denials = Mutex(1)
        let refused = Mutex(0)
        var request = exchange.request("/")
        request.egress = EgressGuard(
            allowsHost: { _, _ in true },
            allows: { _, _ in
                denials.withLock { left in
                    left -= 1
                    return left < 0
                }
            },
            onRefusal: { _, _ in refused.withLock { $0 += 1 } }
        )
        let response = try await exchange.loop.fetch(request, bodyMax: 10)
        #expect(response.body == Array("found".utf8))
        #expect(!response.summary.isConnectionReused)
        let log = exchange.origin.log.now
        #expect(log.connectionsAccepted == 2)
        #expect(log.requests(at: "/").count == 2)
        #expect(refused.withLock { $0 } == 0)
    }

    @Test func opensNoConnectionOnceItMayNotBegin() async throws {
        let exchange = try Exchange()
        let (_, code) = await exchange.run(.response()) { $0.mayBegin = { false } }
        #expect(code == .cancelled)
        #expect(exchange.origin.log.now.connectionsAccepted == 0)
    }

    @Test func sendsNothingOnAKeptConnectionOnceItMayNotBegin() async throws {
        let exchange = try Exchange()
        exchange.origin.when("/", .response(body: .text("first")))
        exchange.origin.when("/late", .response(body: .text("late")))
        _ = try await exchange.loop.fetch(exchange.request("/"), bodyMax: 10)
        var request = exchange.request("/late")
        request.mayBegin = { false }
        let sink = RecordingSink()
        exchange.loop.start(request, sink: sink)
        #expect(await sink.result?.code == .cancelled)
        #expect(exchange.origin.log.now.requests(at: "/late").isEmpty)
    }

    @Test func isAskedForAddressAndPortThatAreUsed() async throws {
        let exchange = try Exchange()
        let asked = Mutex<Set<SocketAddress>>([])
        var request = exchange.request("/")
        request.egress = EgressGuard { address in
            asked.withLock { _ = $0.insert(address) }
            return true
        }
        exchange.origin.when("/", .response())
        _ = try await exchange.loop.fetch(request, bodyMax: 1)
        let expected = SocketAddress(bytes: [127, 0, 0, 1], port: exchange.origin.port)
        #expect(asked.withLock { $0 } == [try #require(expected)])
    }

    /// A connection that one group may use is of no use to another.
    @Test func decidesByGroupAndTellsWhomItRefused() async throws {
        let exchange = try Exchange()
        exchange.origin.when("/", .response(body: .text("first")))
        let (good, bad) = (UUID(), UUID())
        let refused = Mutex<[String]>([])
        let egress = EgressGuard(
            allowsHost: { _, _ in true },
            allows: { _, group in group != bad },
            onRefusal: { host, group in
                refused.withLock { $0.append("\(host) \(group == bad)") }
            }
        )
        for group in [good, bad] {
            var request = exchange.request("/")
            request.egress = egress
            request.group = group
            let sink = RecordingSink()
            exchange.loop.start(request, sink: sink)
            #expect(await sink.result?.code == (group == bad ? .egressDenied : nil))
        }
        #expect(exchange.origin.log.now.requests(at: "/").count == 1)
        #expect(refused.withLock { $0 } == ["127.0.0.1 true"])
    }

    @Test(arguments: ["127.1", "2130706433", "0x7f.1", "0177.0.0.1", "[::ffff:127.0.0.1]"])
    func otherSpellingsReachSameDecision(host: String) async throws {
        let exchange = try Exchange()
        let sink = RecordingSink()
        let loopbackIsClosed = EgressGuard { $0.bytes.first != 127 }
        exchange.loop.start(
            CurlRequest(url: "http://\(host):\(exchange.origin.port)/", egress: loopbackIsClosed),
            sink: sink
        )
        #expect(await sink.result?.code == .egressDenied)
        #expect(exchange.origin.log.now.connectionsAccepted == 0)
    }

    @Test func refusedConnectionIsNotDenied() async throws {
        let exchange = try Exchange()
        let held = try HeldPort()
        defer { withExtendedLifetime(held) {} }
        let sink = RecordingSink()
        exchange.loop.start(
            CurlRequest(url: "http://127.0.0.1:\(held.number)/", egress: .everywhere),
            sink: sink
        )
        #expect(await sink.result?.code == .couldNotConnect)
    }

    @Test func mappedAddressIsGivenAsIPv4() {
        let mapped = SocketAddress(text: "::ffff:10.1.2.3", port: 80)
        #expect(mapped == SocketAddress(text: "10.1.2.3", port: 80))
        #expect(mapped?.bytes == [10, 1, 2, 3])
        #expect(SocketAddress(text: "::1", port: 80)?.bytes.count == 16)
        #expect(SocketAddress(text: "10.1", port: 80) == nil)
        #expect(SocketAddress(bytes: [1, 2, 3], port: 80) == nil)
    }
}
