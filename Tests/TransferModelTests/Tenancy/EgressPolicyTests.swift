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
        "100.127.255.255", "127.0.0.1", "127.255.255.255", "169.254.0.0", "169.254.169.254",
        "172.16.0.0", "172.31.255.255", "192.168.0.0", "192.168.255.255",
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

    @Test(
        arguments: [
            ([10, 0, 0], 8), ([10, 0, 0, 0], 33), ([10, 0, 0, 0], -1), ([], 0),
        ] as [([UInt8], Int)]
    )
    func refusesANetworkThatIsNone(prefix: [UInt8], length: Int) {
        #expect(EgressPolicy.Network(prefix: prefix, length: length) == nil)
    }

    private static func bytes(_ text: String) throws -> [UInt8] {
        let isIPv6 = text.contains(":")
        var bytes = [UInt8](repeating: 0, count: isIPv6 ? 16 : 4)
        try #require(inet_pton(isIPv6 ? AF_INET6 : AF_INET, text, &bytes) == 1)
        return bytes
    }
}
