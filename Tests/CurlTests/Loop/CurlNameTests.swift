import Curl
import Synchronization
import Testing
import TransferTestSupport

/// Fault T13: names with several addresses.
///
/// libcurl itself resolves `localhost` to ::1 and 127.0.0.1 (`Curl_resolv` in lib/hostip.c), so
/// that a name with two addresses needs no name server; the origin has only the second.
@Suite(.timeLimit(.minutes(5)))
struct CurlNameTests {
    private static let body = OriginBody.text("found")

    private func run(
        _ exchange: Exchange,
        host: String = "localhost",
        _ egress: EgressGuard
    ) async throws -> Result<CurlSummary, CurlError> {
        exchange.origin.when("/", .response(body: Self.body))
        let sink = RecordingSink()
        exchange.loop.start(
            CurlRequest(url: "http://\(host):\(exchange.origin.port)/", egress: egress),
            sink: sink
        )
        _ = await sink.result
        return try #require(sink.record.results.first)
    }

    @Test func goesOnToTheNextAddressWhenOneRefuses() async throws {
        let summary = try await run(try Exchange(), .everywhere).get()
        #expect(summary.primaryAddress == "127.0.0.1")
        #expect(summary.bytesReceived == Int64(Self.body.count))
    }

    @Test func goesOnToTheNextAddressWhenOneIsDenied() async throws {
        let summary = try await run(try Exchange(), EgressGuard { $0.bytes.count == 4 }).get()
        #expect(summary.primaryAddress == "127.0.0.1")
    }

    /// An answer that mixes allowed and forbidden addresses opens no way to the forbidden one.
    @Test func aDeniedAddressIsNotReachedForTheSakeOfAnother() async throws {
        let exchange = try Exchange()
        let result = try await run(exchange, EgressGuard { $0.bytes.count == 16 })
        // Without IPv6, no allowed address is left.
        #expect([.couldNotConnect, .egressDenied].contains(result.code))
        #expect(exchange.origin.log.now.connectionsAccepted == 0)
    }

    /// It is not known then whether the host can be reached by others.
    @Test func theEndTellsOfADeniedAddressBesideOthers() async throws {
        let held = try HeldPort()
        defer { withExtendedLifetime(held) {} }
        let loop = try AddressedLoop()
        for isDenied in [false, true] {
            let request = CurlRequest(
                url: "http://mixed.test:\(held.number)/",
                egress: EgressGuard { address in !isDenied || address.bytes.last == 1 }
            )
            let result = try await loop.run(request, at: ["127.0.0.2", "127.0.0.1"])
            #expect(result?.code == .couldNotConnect)
            #expect(result?.summary.isAddressDenied == isDenied)
            #expect(result?.summary.primaryAddress == nil)
        }
    }

    @Test func everyAddressIsAskedForBeforeAllAreDenied() async throws {
        let exchange = try Exchange()
        let asked = Mutex<Set<[UInt8]>>([])
        let result = try await run(
            exchange,
            EgressGuard { address in
                asked.withLock { _ = $0.insert(address.bytes) }
                return false
            }
        )
        #expect(result.code == .egressDenied)
        #expect(asked.withLock { $0 }.contains([127, 0, 0, 1]))
        #expect(exchange.origin.log.now.connectionsAccepted == 0)
    }

    @Test func aNameWithoutAnAddressDoesTheNextTransferNoHarm() async throws {
        let exchange = try Exchange()
        let host = String(repeating: "a", count: 64) + ".test"
        for _ in 0..<2 {
            #expect(try await run(exchange, host: host, .everywhere).code == .couldNotResolve)
            #expect(try await run(exchange, .everywhere).get().primaryAddress == "127.0.0.1")
        }
    }

    /// The name itself may carry something out to a name server.
    @Test func aHostThatMayNotBeAskedIsNotLookedUp() async throws {
        let refused = Mutex<[String]>([])
        let host = String(repeating: "a", count: 64) + ".test"
        let guarding = EgressGuard(
            allowsHost: { _, _ in false },
            allows: { _, _ in true },
            onRefusal: { host, _ in refused.withLock { $0.append(host) } }
        )
        let result = try await run(try Exchange(), host: host, guarding)
        #expect(result.code == .egressDenied)
        #expect(result.summary.isAddressDenied)
        #expect(refused.withLock { $0 } == [host])
    }

    /// The name has a label of more than 63 bytes (RFC 1035 §2.3.4), for which no name server is
    /// asked.
    @Test func aNameWithoutAnAddressIsNotResolved() async throws {
        let host = String(repeating: "a", count: 64) + ".test"
        let result = try await run(try Exchange(), host: host, .everywhere)
        #expect(result.code == .couldNotResolve)
    }
}
