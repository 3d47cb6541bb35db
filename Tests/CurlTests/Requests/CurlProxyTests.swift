import Foundation
import Synchronization
import Testing
import TransferTestSupport

@testable import Curl

/// Requests that leave through a proxy on real sockets, which leads every tunnel to the origin.
@Suite(.timeLimit(.minutes(5)))
struct CurlProxyTests {
    /// A public address, which nothing on this machine has.
    private static let host = "93.184.216.34"
    private static let body = OriginBody.text("found")

    private let exchange: Exchange
    private let proxy: ConnectProxy

    init() throws {
        exchange = try Exchange()
        proxy = try ConnectProxy(to: exchange.origin.port)
        exchange.origin.when("/", .response(body: Self.body))
    }

    /// Returns a guard that sends everything through the proxy.
    private func egress(
        credential: String? = nil,
        host: String = "127.0.0.1",
        allows: @escaping @Sendable (SocketAddress, UUID?) -> Bool = { address, _ in
            address.bytes.first != 127
        }
    ) throws -> EgressGuard {
        let proxy = try CurlProxy(
            url: "http://\(host):\(proxy.port)",
            credential: credential.flatMap(CurlProxy.Credential.init)
        )
        return EgressGuard(
            allowsHost: { _, _ in true },
            allows: allows,
            proxy: { _ in proxy }
        )
    }

    private func run(
        _ url: String = "http://\(host)/",
        egress: EgressGuard,
        _ change: (inout CurlRequest) -> Void = { _ in }
    ) async -> (record: RecordingSink.Record, result: Result<CurlSummary, CurlError>?) {
        var request = CurlRequest(url: url, egress: egress)
        change(&request)
        let sink = RecordingSink()
        exchange.loop.start(request, sink: sink)
        let result = await sink.result
        return (sink.record, result)
    }

    @Test func aPlainRequestGoesThroughATunnelToo() async throws {
        let (record, result) = await run(egress: try egress(credential: "me:secret")) {
            $0.headers = [("X-Secret", "of the task"), ("Authorization", "Bearer task")]
        }
        let summary = try #require(try result?.get())
        #expect(record.body == Array("found".utf8))
        #expect(summary.primaryAddress == Self.host)
        #expect(summary.primaryPort == 80)
        #expect(proxy.log.targets == ["\(Self.host):80"])
        let head = try #require(proxy.log.heads.first)
        #expect(head.contains("Proxy-Authorization: Basic bWU6c2VjcmV0\r\n"))
        for secret in ["X-Secret", "Authorization: Bearer"] { #expect(!head.contains(secret)) }
        let request = try #require(exchange.origin.log.now.requests(at: "/").first)
        #expect(request["Host"] == Self.host)
        #expect(request["X-Secret"] == "of the task")
        #expect(request.headers.allSatisfy { !$0.name.lowercased().hasPrefix("proxy-") })
        // What the proxy said is not part of the answer.
        #expect(record.heads.map { $0["X-Proxy"] } == [nil])
        #expect(exchange.origin.log.now.connectionsAccepted == proxy.log.tunnels)
    }

    @Test func theGuardIsAskedForTheHostAndSocketsLeadToTheProxyAlone() async throws {
        let asked = Mutex<Set<SocketAddress>>([])
        let guarding = try egress { address, _ in
            asked.withLock { _ = $0.insert(address) }
            return true
        }
        _ = try await run(egress: guarding).result?.get()
        let host = try #require(SocketAddress(text: Self.host, port: 80))
        #expect(asked.withLock { $0 } == [host])
    }

    @Test func aDeniedAddressIsNotAskedOfTheProxy() async throws {
        let refused = Mutex<[String]>([])
        let proxy = try CurlProxy(url: proxy.url)
        let guarding = EgressGuard(
            allowsHost: { _, _ in true },
            allows: { address, _ in !["127.0.0.1", "::1"].contains(address.text) },
            proxy: { _ in proxy },
            onRefusal: { host, _ in refused.withLock { $0.append(host) } }
        )
        for host in ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "2130706433"] {
            let url = "http://\(host):\(exchange.origin.port)/"
            #expect(await run(url, egress: guarding).result?.code == .egressDenied, "\(host)")
        }
        #expect(refused.withLock { $0.count } == 4)
        #expect(self.proxy.log.connections == 0)
        #expect(exchange.origin.log.now.connectionsAccepted == 0)
    }

    @Test func aDeniedHostIsNotAskedOfTheProxyWhateverItsAddress() async throws {
        let guarding = try egress()
        let allowing = EgressGuard(
            allowsHost: { _, _ in false },
            allows: { _, _ in true },
            proxy: { guarding.proxy(for: $0) }
        )
        #expect(await run(egress: allowing).result?.code == .egressDenied)
        #expect(proxy.log.connections == 0)
    }

    /// A tunnel that one group may use is of no use to another.
    @Test func aKeptTunnelIsJudgedAgain() async throws {
        let bad = UUID()
        let guarding = try egress { _, group in group != bad }
        for (group, code) in [(UUID(), nil), (bad, .egressDenied), (UUID(), nil)]
            as [(UUID, CurlError.Code?)]
        {
            #expect(await run(egress: guarding, { $0.group = group }).result?.code == code)
        }
        #expect(exchange.origin.log.now.requests(at: "/").count == 2)
        #expect(proxy.log.tunnels == 1)
    }

    /// Before the connection and before the request, a host that was allowed may be so no more.
    @Test(arguments: [1, 2])
    func aRuleThatChangesWhileTheTunnelIsMadeHolds(allowances: Int) async throws {
        let left = Mutex(allowances)
        let guarding = try egress { _, _ in
            left.withLock { left in
                left -= 1
                return left >= 0
            }
        }
        #expect(await run(egress: guarding).result?.code == .egressDenied)
        #expect(proxy.log.tunnels == allowances - 1)
        #expect(exchange.origin.log.now.requests(at: "/").isEmpty)
    }

    /// Otherwise what was judged would not be what is used.
    @Test func aKeptTunnelServesOnlyRequestsToItsAddress() async throws {
        let first = try egress { address, _ in address.bytes.count == 4 }
        let second = try egress { address, _ in address.bytes.count == 16 }
        let url = "http://localhost:4711/"
        for guarding in [first, second, first, second] {
            _ = try await run(url, egress: guarding).result?.get()
        }
        #expect(proxy.log.targets == ["127.0.0.1:4711", "[::1]:4711"])
        let hosts = exchange.origin.log.now.requests(at: "/").map { $0["Host"] }
        #expect(hosts == Array(repeating: "localhost:4711", count: 4))
    }

    @Test func goesOnToTheNextAddressWhenTheProxyCannotReachOne() async throws {
        proxy.answers { $0.hasPrefix("127") ? .status(503) : .tunnel }
        let guarding = try egress { _, _ in true }
        let summary = try await run("http://localhost:4711/", egress: guarding).result?.get()
        #expect(summary?.primaryAddress == "::1")
        #expect(proxy.log.targets == ["127.0.0.1:4711", "[::1]:4711"])
    }

    /// A denied address is not reached for the sake of another.
    @Test func goesOnToNoDeniedAddress() async throws {
        proxy.answers { _ in .status(503) }
        let guarding = try egress { address, _ in address.bytes.count == 4 }
        let result = await run("http://localhost:4711/", egress: guarding).result
        #expect(result?.code == .couldNotConnect)
        #expect(result?.summary.isAddressDenied == true)
        #expect(proxy.log.targets == ["127.0.0.1:4711"])
    }

    /// The last of these addresses, which the proxy is asked for alone, is not all that there is.
    @Test(arguments: [false, true])
    func theEndTellsOfADeniedAddressBesideOthers(isDenied: Bool) async throws {
        proxy.answers { _ in .status(503) }
        let guarding = try egress { address, _ in !isDenied || address.bytes.last != 1 }
        let request = CurlRequest(url: "http://mixed.test/", egress: guarding)
        let addresses = ["192.0.2.1", "192.0.2.2", "192.0.2.3"]
        let result = try await AddressedLoop().run(request, at: addresses)
        #expect(result?.code == .couldNotConnect)
        #expect(result?.summary.isAddressDenied == isDenied)
        let asked = addresses.dropFirst(isDenied ? 1 : 0).map { "\($0):80" }
        #expect(proxy.log.targets == asked)
    }

    /// Where a name of the proxy leads now is not where it led when the tunnel was made.
    ///
    /// Nobody listens there in this test.
    @Test func aTunnelThroughAFormerAddressOfTheProxyIsLeftAndNotDenied() async throws {
        let refused = Mutex(0)
        let named = try CurlProxy(url: "http://proxy.test:\(proxy.port)")
        let guarding = EgressGuard(
            allowsHost: { _, _ in true },
            allows: { _, _ in true },
            proxy: { _ in named },
            onRefusal: { _, _ in refused.withLock { $0 += 1 } }
        )
        let loop = try AddressedLoop()
        let request = CurlRequest(url: "http://origin.test/", egress: guarding)
        let first = try await loop.run(request, at: [Self.host], through: ["127.0.0.1"])
        #expect(first?.code == nil)
        let next = try await loop.run(request, at: [Self.host], through: ["127.0.0.2"])
        #expect(next?.code == .proxyUnreachable)
        #expect(refused.withLock { $0 } == 0)
        #expect(exchange.origin.log.now.requests(at: "/").count == 1)
    }

    @Test(
        arguments: [
            (.status(407), .proxyCredentialRefused), (.status(403), .proxyRefused),
            (.status(405), .proxyRefused), (.status(429), .couldNotConnect),
            (.status(302), .couldNotConnect), (.status(500), .couldNotConnect),
            (.status(502), .couldNotConnect), (.status(504), .couldNotConnect),
            (.bytes("no proxy\r\n\r\n"), .proxyUnreachable), (.bytes(""), .proxyUnreachable),
        ] as [(ConnectProxy.Answer, CurlError.Code)]
    )
    func whatIsNoTunnelIsNoAnswer(answer: ConnectProxy.Answer, code: CurlError.Code) async throws {
        proxy.answers { _ in answer }
        let (record, result) = await run(egress: try egress(credential: "me:wrong"))
        #expect(result?.code == code)
        #expect(record.heads.isEmpty)
        guard case .failure(let error) = result else { return }
        #expect(error.summary.primaryAddress == nil)
        #expect(exchange.origin.log.now.connectionsAccepted == 0)
    }

    @Test func aProxyThatIsAwayIsTold() async throws {
        let held = try HeldPort()
        defer { withExtendedLifetime(held) {} }
        let away = try CurlProxy(url: "http://127.0.0.1:\(held.number)")
        let nameless = try CurlProxy(url: "http://\(String(repeating: "a", count: 64)).test:1")
        for proxy in [away, nameless] {
            let guarding = EgressGuard(
                allowsHost: { _, _ in true },
                allows: { _, _ in true },
                proxy: { _ in proxy }
            )
            #expect(await run(egress: guarding).result?.code == .proxyUnreachable)
        }
    }

    @Test func aSilentProxyIsNotWaitedForLongerThanAConnection() async throws {
        proxy.answers { _ in .silence }
        let result = await run(egress: try egress()) { $0.connectTimeout = .milliseconds(300) }
            .result
        #expect(result?.code == .proxyUnreachable)
    }

    /// A timeout of our own that leaves less time than a connection may take is the request's.
    @Test func anImpatientRequestSaysNothingOfTheProxy() async throws {
        proxy.answers { _ in .silence }
        let result = await run(egress: try egress()) {
            $0.inactivityTimeout = .milliseconds(200)
        }.result
        #expect(result?.code == .timedOut(.inactivity))
    }

    /// It may be trying to reach the host, and for longer than the request waits.
    @Test func aProxyThatAnswersOthersIsNotAway() async throws {
        proxy.answers { $0.hasPrefix(Self.host) ? .silence : .tunnel }
        let guarding = try egress()
        var request = CurlRequest(url: "http://\(Self.host)/", egress: guarding)
        request.connectTimeout = .seconds(1)
        // Again where the other answer has come too late.
        while !Task.isCancelled {
            let sink = RecordingSink()
            exchange.loop.start(request, sink: sink)
            let other = await run("http://93.184.216.35/", egress: guarding) {
                $0.isReplayable = false
            }
            #expect(other.result?.code == nil)
            let isTooLate = !sink.record.results.isEmpty
            let code = await sink.result?.code
            if isTooLate { continue }
            #expect(code == .timedOut(.connect))
            return
        }
    }

    /// What it has answered about one address of the host shows that it is there.
    @Test func aProxyThatIsSilentAboutAFurtherAddressIsNotAway() async throws {
        let addresses = ["192.0.2.1", "192.0.2.2"]
        proxy.answers { $0.hasPrefix(addresses[0]) ? .status(503) : .silence }
        var request = CurlRequest(url: "http://mixed.test/", egress: try egress())
        request.connectTimeout = .seconds(1)
        var code: CurlError.Code?
        // Again where the answer about the first one has come too late.
        repeat {
            code = try await AddressedLoop().run(request, at: addresses)?.code
        } while proxy.log.targets.last != "\(addresses[1]):80" && !Task.isCancelled
        #expect(code == .timedOut(.connect))
    }

    @Test func aProxyWhoseNameNobodyAnswersForIsAway() throws {
        let named = try CurlProxy(url: "http://proxy.test:3128")
        let guarding = EgressGuard(
            allowsHost: { _, _ in true },
            allows: { _, _ in true },
            proxy: { _ in named }
        )
        let request = CurlRequest(url: "http://\(Self.host)/", egress: guarding)
        let url = try request.validated()
        for (waited, code) in [(11, .proxyUnreachable), (1, .timedOut(.connect))]
            as [(Int, CurlError.Code)]
        {
            let start = TransferStart(
                request,
                url: url,
                sink: RecordingSink(),
                at: ContinuousClock.now - .seconds(waited)
            )
            #expect(start.failure(.timedOut(.connect)).code == code)
        }
    }

    @Test func theOriginsOwn407IsItsAnswer() async throws {
        exchange.origin.when("/", .response(407))
        let (record, result) = await run(egress: try egress())
        #expect(result?.code == nil)
        #expect(record.heads.map(\.status) == [407])
    }

    @Test func aBodyGoesThroughTheTunnel() async throws {
        let body = Array("to the origin".utf8)
        let (record, _) = await run(egress: try egress()) {
            $0.method = "POST"
            $0.body = body
        }
        #expect(record.heads.map(\.status) == [200])
        #expect(exchange.origin.log.now.requests(at: "/").map(\.body) == [body])
    }

    /// The certificate is that of the host in the URL, at whatever address it is reached.
    @Test func theHostProvesItselfThroughTheTunnel() async throws {
        let authority = try await TestAuthority()
        let server = try await TLSServer(authority.issue(), of: authority)
        let proxy = try ConnectProxy(to: server.port)
        let route = try CurlProxy(url: proxy.url)
        let guarding = EgressGuard(
            allowsHost: { _, _ in true },
            allows: { address, _ in address.bytes.count == 4 },
            proxy: { _ in route }
        )
        func code(_ url: String) async -> CurlError.Code? {
            await run(url, egress: guarding) {
                $0.tls.certificateAuthorities = authority.certificate
            }.result?.code
        }
        #expect(await code("https://\(Self.host)/response") == .tlsFailure)
        #expect(await code("https://localhost/response") == nil)
        #expect(proxy.log.targets == ["\(Self.host):443", "127.0.0.1:443"])
    }

    @Test func theProxyHasANameAndACredentialOfAnyCharacters() async throws {
        let guarding = try egress(credential: "m%41e:p%40:ß", host: "localhost")
        _ = try await run(egress: guarding).result?.get()
        let pair = Data("m%41e:p%40:ß".utf8).base64EncodedString()
        #expect(proxy.log.heads.first?.contains("Basic \(pair)\r\n") == true)
    }

    @Test(arguments: [
        "proxy.test:3128", "https://proxy.test:3128", "socks5://proxy.test", "http://",
        "http://me:secret@proxy.test", "http://proxy.test/path", "http://proxy.test/?a",
        "http://proxy.test/#a",
    ])
    func whatIsNoProxyIsRefused(url: String) {
        #expect(throws: CurlError.self) { try CurlProxy(url: url) }
    }

    @Test func aCredentialIsAPairAndShownNowhere() throws {
        for text in ["", "me", ":secret", "me:sec\r\nret", "m\u{0}e:secret"] {
            #expect(CurlProxy.Credential(text) == nil, "\(text)")
        }
        let credential = try #require(CurlProxy.Credential("me:secret:word"))
        let proxy = try CurlProxy(url: "http://proxy.test", credential: credential)
        #expect(proxy.address == "http://proxy.test:80")
        var dumped = ""
        dump(proxy, to: &dumped)
        for text in [dumped, "\(proxy)", String(reflecting: proxy), "\(credential)"] {
            #expect(!text.contains("secret"))
        }
    }
}
