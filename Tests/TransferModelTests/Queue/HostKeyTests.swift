import Testing
import TransferModel

@Suite struct HostKeyTests {
    /// The value is stored in every task's row: another version must compute the same.
    @Test(
        arguments: [
            ("example.com", 443, 3_283_815_920_503_441_305),
            ("example.com", 80, -1_704_559_360_467_885_215),
            ("127.0.0.1", 8080, -5_298_209_568_870_612_234),
            ("[::1]", 80, 2_483_469_422_172_234_124),
        ] as [(String, Int, Int64)]
    )
    func isTheSameInEveryVersion(host: String, port: Int, key: Int64) {
        #expect(HostKey(host: host, port: port).rawValue == key)
    }

    @Test(
        arguments: [
            ("Example.COM", "example.com"), ("example.com.", "example.com"),
            ("::1", "[::1]"), ("[0:0:0:0:0:0:0:1]", "[::1]"), ("2001:DB8::1", "[2001:db8:0::1]"),
            ("127.1", "127.0.0.1"), ("0x7f000001", "127.0.0.1"), ("2130706433", "127.0.0.1"),
            ("0177.0.0.1", "127.0.0.1"), ("127.0.0.1.", "127.0.0.1"),
            ("::ffff:127.0.0.1", "127.0.0.1"), ("[::FFFF:7f00:1]", "127.0.0.1"),
        ]
    )
    func allWaysToWriteAHostShareALane(written: String, host: String) {
        #expect(HostKey(host: written, port: 443) == HostKey(host: host, port: 443))
        #expect(HostKey(hostAndPort: "\(written):443") == HostKey(host: host, port: 443))
    }

    /// A pause or a limit under such a name would be one of nothing.
    @Test(
        arguments: [
            "https://files.test:443", "http://127.0.0.1:80", "127.0.0.1/x:80", "user@127.0.0.1:80",
            " 127.0.0.1:80", "files.test :443", "*.test:443", "é.test:443", "files.test:0",
            "files.test:+80", "files.test:65536", "files.test:", "files.test", ":443", "", "[]:443",
            "[127.0.0.1]:443", "[::1:443", "::1]:443", "1:2:443", "[fe80::1%lo]:443",
            "::1\0:443", "files.test:00443x", "files.test:000443",
        ]
    )
    func whatNoURLHasIsNoHost(text: String) {
        #expect(HostKey(hostAndPort: text) == nil)
    }

    /// What a resolver takes for another host may share the key, but is not what it stands for.
    @Test(
        arguments: [
            ("files.test", true), ("Files.Test", true), ("127.0.0.1", true), ("[::1]", true),
            ("2001:DB8::1", true), ("files.test.", false), ("127.0.0.1.", false),
            ("[::ffff:127.0.0.1]", false), ("::FFFF:7f00:1", false), ("0x7f000001", false),
        ]
    )
    func aKeyStandsForOneSpelling(host: String, isCanonical: Bool) {
        #expect(HostKey.isCanonical(host) == isCanonical)
    }

    @Test func portsAndHostsHaveKeysOfTheirOwn() {
        let hostKeys: Set = [
            HostKey(host: "example.com", port: 443), HostKey(host: "example.com", port: 80),
            HostKey(host: "example.org", port: 443), HostKey(host: "example.com4", port: 43),
            HostKey(host: "127.0.0.1", port: 443),
            HostKey(host: "127.0.0.1.example.com", port: 443),
            HostKey(host: "::7f00:1", port: 443), HostKey(host: "0x7f.example", port: 443),
        ]
        #expect(hostKeys.count == 8)
    }
}
