import Glibc
import Testing
import TransferModel

@Suite struct EgressPolicyTests {
    @Test(arguments: [
        "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0",
        "126.255.255.255", "128.0.0.0", "169.253.255.255", "169.255.0.0", "172.15.255.255",
        "172.32.0.0", "192.0.1.0", "192.167.255.255", "192.169.0.0", "198.17.255.255",
        "198.20.0.0", "223.255.255.255", "2606:4700:4700::1111", "2a00:1450::1",
        "::ffff:8.8.8.8", "64:ff9b::8.8.8.8",
    ])
    func reachesPublicAddresses(text: String) throws {
        #expect(EgressPolicy().allows(try Self.bytes(text)))
    }

    @Test(arguments: [
        // RFC 1122, 1918, 6598, 1122, 3927
        "0.0.0.0", "0.255.255.255", "10.0.0.0", "10.255.255.255", "100.64.0.0",
        "100.127.255.255", "127.0.0.1", "127.255.255.255", "168.63.129.16", "169.254.0.0",
        "169.254.169.254", "172.16.0.0", "172.31.255.255", "192.168.0.0", "192.168.255.255",
        // RFC 6890, 5737, 7535, 7450, 7526, 7534, 2544
        "192.0.0.1", "192.0.2.1", "192.31.196.1", "192.52.193.1", "192.88.99.1", "192.175.48.1",
        "198.18.0.0", "198.19.255.255", "198.51.100.1", "203.0.113.1",
        // Multicast, reserved, broadcast
        "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
        // IPv6: unspecified, loopback, compatible, discard, link local, site local, unique local,
        // multicast, Teredo, ORCHID, documentation, 6to4, AS112, documentation, segment routing
        "::", "::1", "::7f00:1", "100::1", "fe80::1", "febf::1", "fec0::1", "fc00::1",
        "fd12:3456::1", "ff02::1", "2001::1", "2001:10::1", "2001:20::1", "2001:db8::1",
        "2002:7f00:1::", "2620:4f:8000::1", "3fff::1", "5f00::1", "4000::1",
        // The same IPv4 addresses embedded in IPv6 addresses.
        "::ffff:127.0.0.1", "::ffff:169.254.169.254", "::ffff:10.0.0.1", "64:ff9b::127.0.0.1",
        "64:ff9b::169.254.169.254", "64:ff9b:1::127.0.0.1",
    ])
    func refusesWhatIsNotPublic(text: String) throws {
        #expect(!EgressPolicy().allows(try Self.bytes(text)))
    }

    @Test(arguments: [[], [1], [1, 1, 1], [8, 8, 8, 8, 8], Array(repeating: 8, count: 17)])
    func refusesBytesThatAreNoAddress(bytes: [UInt8]) {
        #expect(!EgressPolicy().allows(bytes))
    }

    @Test func anOperatorCanAllowANetwork() throws {
        let network = try #require(EgressPolicy.Network(prefix: [10, 8, 0, 0], length: 13))
        let policy = EgressPolicy(allowed: [network])
        #expect(policy.allows([10, 8, 0, 1]))
        #expect(policy.allows([10, 15, 255, 255]))
        #expect(!policy.allows([10, 16, 0, 0]))
        #expect(!policy.allows([10, 7, 255, 255]))
        #expect(!policy.allows([127, 0, 0, 1]))
        #expect(policy.allows(try Self.bytes("::ffff:10.8.0.1")))
    }

    @Test func anOperatorCanAllowANetworkOfIPv6() throws {
        let network = try #require(
            EgressPolicy.Network(prefix: try Self.bytes("fd00:1::"), length: 32)
        )
        let policy = EgressPolicy(allowed: [network])
        #expect(policy.allows(try Self.bytes("fd00:1::1")))
        #expect(!policy.allows(try Self.bytes("fd00:2::1")))
    }

    @Test func everythingAndOneAddressAreNetworksToo() throws {
        let all = try #require(EgressPolicy.Network(prefix: [0, 0, 0, 0], length: 0))
        #expect(EgressPolicy(allowed: [all]).allows([127, 0, 0, 1]))
        let one = try #require(EgressPolicy.Network(prefix: [127, 0, 0, 1], length: 32))
        #expect(EgressPolicy(allowed: [one]).allows([127, 0, 0, 1]))
        #expect(!EgressPolicy(allowed: [one]).allows([127, 0, 0, 2]))
    }

    private static func network(_ text: String, _ length: Int) throws -> EgressPolicy.Network {
        try #require(EgressPolicy.Network(prefix: try bytes(text), length: length))
    }

    @Test func whatIsDeniedIsDeniedInEveryFormWhateverIsAllowed() throws {
        var policy = EgressPolicy(
            allowed: [try Self.network("0.0.0.0", 0), try Self.network("::", 0)]
        )
        policy.denied = [try Self.network("8.8.0.0", 16), try Self.network("2a00:1450::", 32)]
        for text in [
            "8.8.8.8", "::ffff:8.8.4.4", "64:ff9b::8.8.8.8", "2002:808:808::1", "::8.8.8.8",
            // Teredo writes the address of its client inverted.
            "2001:0:1:2:3:4:f7f7:f7f7", "2a00:1450::1",
        ] {
            #expect(!policy.allows(try Self.bytes(text)), "\(text)")
        }
        #expect(policy.allows(try Self.bytes("8.9.8.8")))
        #expect(policy.allows(try Self.bytes("127.0.0.1")))
    }

    /// A connection to 0.0.0.0 or :: arrives at the loopback (ip(7)).
    @Test func anUnspecifiedAddressIsDeniedWithTheLoopback() throws {
        var policy = EgressPolicy(
            allowed: [try Self.network("0.0.0.0", 0), try Self.network("::", 0)]
        )
        let unspecified = ["0.0.0.0", "::", "::ffff:0.0.0.0"]
        for text in unspecified { #expect(policy.allows(try Self.bytes(text)), "\(text)") }
        policy.denied = [try Self.network("127.0.0.0", 8)]
        for text in unspecified { #expect(!policy.allows(try Self.bytes(text)), "\(text)") }
        policy.denied = [try Self.network("::1", 128)]
        #expect(!policy.allows(try Self.bytes("::")))
        #expect(policy.allows(try Self.bytes("0.0.0.0")))
        #expect(policy.allows(try Self.bytes("0.0.0.1")))
    }

    /// The examples of RFC 6052 §2.4, and an address behind each prefix that is not public.
    @Test(arguments: [
        ("2001:db8::", 32, "2001:db8:c000:221::", "2001:db8:7f00:1::"),
        ("2001:db8:100::", 40, "2001:db8:1c0:2:21::", "2001:db8:17f:0:1::"),
        ("2001:db8:122::", 48, "2001:db8:122:c000:2:2100::", "2001:db8:122:7f00:0:100::"),
        ("2001:db8:122:300::", 56, "2001:db8:122:3c0:0:221::", "2001:db8:122:37f:0:1::"),
        ("2001:db8:122:344::", 64, "2001:db8:122:344:c0:2:2100::", "2001:db8:122:344:7f:0:100::"),
        ("2001:db8:122:344::", 96, "2001:db8:122:344::192.0.2.33", "2001:db8:122:344::127.0.0.1"),
    ])
    func anAddressBehindATranslationCountsAsTheOneInIt(
        prefix: String,
        length: Int,
        example: String,
        loopback: String
    ) throws {
        var policy = EgressPolicy(allowed: [try Self.network("192.0.2.33", 32)])
        policy.translations = [try Self.network(prefix, length)]
        #expect(policy.innerIPv4(of: try Self.bytes(example)) == [192, 0, 2, 33])
        #expect(policy.allows(try Self.bytes(example)))
        #expect(policy.innerIPv4(of: try Self.bytes(loopback)) == [127, 0, 0, 1])
        #expect(!policy.allows(try Self.bytes(loopback)))
        #expect(!EgressPolicy().allows(try Self.bytes(example)))
    }

    @Test func onlyNamedPortsAreReached() {
        var policy = EgressPolicy()
        #expect(policy.allows([1, 1, 1, 1], port: 25))
        policy.ports = [443, 8443]
        #expect(policy.allows([1, 1, 1, 1], port: 443))
        #expect(!policy.allows([1, 1, 1, 1], port: 80))
        #expect(!policy.allows([127, 0, 0, 1], port: 443))
    }

    @Test func aHostIsANameOrAnAddress() {
        for (text, host) in [
            ("Example.COM", "example.com"), (".internal", ".internal"), ("a-b_c.d.", "a-b_c.d"),
            ("192.0.2.1", "192.0.2.1"), ("2001:DB8:0::1", "2001:db8::1"), ("[::1]", "::1"),
            ("::ffff:c000:201", "192.0.2.1"), ("127.1", "127.0.0.1"),
            ("0x7f000001", "127.0.0.1"),
        ] {
            #expect(EgressPolicy.hostName(text) == host, "\(text)")
        }
        for text in [
            "", ".", "https://example.com", "example.com:443", "example.com/a", "::1/128",
            "[::1", "[192.0.2.1]", "[example.com]", "[::1]:80", "a b", "bücher.example",
            "user@example.com", "*.example.com", "a,b",
        ] {
            #expect(EgressPolicy.hostName(text) == nil, "\(text)")
        }
    }

    @Test func onlyAllowedHostsAreAskedIfThereAreSome() {
        var policy = EgressPolicy()
        #expect(policy.allows(host: "anything.example"))
        policy.allowedHosts = ["example.com", ".internal"]
        policy.deniedHosts = ["secret.internal"]
        for host in ["example.com", "EXAMPLE.com.", "internal", "a.internal"] {
            #expect(policy.allows(host: host), "\(host)")
        }
        for host in ["a.example.com", "example.org", "secret.internal", "192.0.2.1", ""] {
            #expect(!policy.allows(host: host), "\(host)")
        }
    }

    @Test func deniedHostsAreDeniedInEverySpelling() {
        var policy = EgressPolicy()
        #expect(policy.allows(host: "example.com"))
        policy.deniedHosts = ["example.com", ".internal"]
        for host in ["example.com", "EXAMPLE.com", "example.com.", "internal", "a.b.Internal."] {
            #expect(!policy.allows(host: host), "\(host)")
        }
        for host in ["a.example.com", "example.org", "notinternal", "internal.example.org"] {
            #expect(policy.allows(host: host), "\(host)")
        }
    }

    /// The host of a URL is as libcurl writes it, with brackets.
    @Test func anAddressIsTheSameHostInEverySpelling() throws {
        var policy = EgressPolicy()
        policy.deniedHosts = try ["2001:DB8:0::1", "::ffff:192.0.2.1", "192.0.2.2"].map {
            try #require(EgressPolicy.hostName($0))
        }
        for host in [
            "[2001:db8::1]", "[2001:0DB8:0:0::1]", "2001:db8::1", "192.0.2.1",
            "[::ffff:192.0.2.1]", "[::ffff:c000:202]", "192.0.2.2.",
        ] {
            #expect(!policy.allows(host: host), "\(host)")
        }
        for host in ["[2001:db8::2]", "192.0.2.3", "[::ffff:c000:203]"] {
            #expect(policy.allows(host: host), "\(host)")
        }
        (policy.allowedHosts, policy.deniedHosts) = (policy.deniedHosts, [])
        #expect(policy.allows(host: "[2001:db8::1]"))
        #expect(!policy.allows(host: "[2001:db8::2]"))
        policy.directHosts = ["::1"]
        #expect(policy.isReachedDirectly("[::1]"))
    }

    @Test(
        arguments: [
            ([10, 0, 0], 8), ([10, 0, 0, 0], 33), ([10, 0, 0, 0], -1), ([], 0),
        ] as [([UInt8], Int)]
    )
    func refusesANetworkThatIsNone(prefix: [UInt8], length: Int) {
        #expect(EgressPolicy.Network(prefix: prefix, length: length) == nil)
    }

    static func bytes(_ text: String) throws -> [UInt8] {
        let isIPv6 = text.contains(":")
        var bytes = [UInt8](repeating: 0, count: isIPv6 ? 16 : 4)
        try #require(inet_pton(isIPv6 ? AF_INET6 : AF_INET, text, &bytes) == 1)
        return bytes
    }
}
