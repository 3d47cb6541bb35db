import Testing
import TransferModel

@Suite struct EgressRulesTests {
    private static func network(_ text: String) throws -> EgressPolicy.Network {
        try #require(EgressPolicy.Network(text))
    }

    private static func bytes(_ text: String) throws -> [UInt8] {
        try EgressPolicyTests.bytes(text)
    }

    @Test func withoutRulesEverythingIsAllowed() throws {
        let rules = EgressRules()
        #expect(rules.isEmpty)
        #expect(rules.allows(host: "example.com"))
        #expect(rules.allows(try Self.bytes("8.8.8.8"), port: 1, as: EgressPolicy()))
    }

    @Test(arguments: [
        ("203.0.113.7", true), ("203.0.114.7", false), ("::ffff:203.0.113.7", true),
        ("64:ff9b::cb00:7107", true), ("64:ff9b:1::cb00:7107", true), ("2001:db8::1", false),
    ])
    func anAllowedNetworkIsTheOnlyOneInEveryForm(text: String, isAllowed: Bool) throws {
        var policy = EgressPolicy()
        policy.translations = [try Self.network("64:ff9b:1::/96")]
        var rules = EgressRules()
        rules.allowedNetworks = [try Self.network("203.0.113.0/24")]
        #expect(rules.allows(try Self.bytes(text), port: 443, as: policy) == isAllowed)
    }

    @Test(arguments: [
        "198.51.100.9", "::ffff:198.51.100.9", "64:ff9b::c633:6409", "2002:c633:6409::1",
        "64:ff9b:1::c633:6409",
    ])
    func aDeniedNetworkIsDeniedInEveryForm(text: String) throws {
        var policy = EgressPolicy()
        policy.translations = [try Self.network("64:ff9b:1::/96")]
        var rules = EgressRules()
        rules.deniedNetworks = [try Self.network("198.51.100.0/24")]
        #expect(!rules.allows(try Self.bytes(text), port: 443, as: policy))
        #expect(rules.allows(try Self.bytes("198.51.101.9"), port: 443, as: policy))
    }

    @Test(arguments: ["0.0.0.0", "::ffff:0.0.0.0", "::"])
    func anUnspecifiedAddressIsDeniedWithTheLoopback(text: String) throws {
        let policy = EgressPolicy(
            allowed: [try Self.network("0.0.0.0/0"), try Self.network("::/0")]
        )
        var rules = EgressRules()
        rules.deniedNetworks = [try Self.network("127.0.0.0/8")]
        #expect(!rules.allows(try Self.bytes(text), port: 443, as: policy))
    }

    @Test func hostsAndPortsAreNarrowed() throws {
        var rules = EgressRules()
        rules.allowedHosts = [".example.com", "one.test"]
        rules.deniedHosts = ["secret.example.com"]
        rules.ports = [443]
        for host in ["example.com", "A.EXAMPLE.com", "a.example.com.", "one.test"] {
            #expect(rules.allows(host: host), "\(host)")
        }
        for host in ["badexample.com", "two.one.test", "secret.example.com", "SECRET.example.com."]
        {
            #expect(!rules.allows(host: host), "\(host)")
        }
        let address = try Self.bytes("8.8.8.8")
        #expect(rules.allows(address, port: 443, as: EgressPolicy()))
        #expect(!rules.allows(address, port: 80, as: EgressPolicy()))
    }

    @Test func rulesThatCannotBeReadDenyEverything() throws {
        var rules = EgressRules()
        rules.denyEverything = true
        #expect(!rules.isEmpty)
        #expect(!rules.allows(host: "example.com"))
        #expect(!rules.allows(try Self.bytes("8.8.8.8"), port: 1, as: EgressPolicy()))
    }

    @Test(arguments: ["10.0.0.0/8", "10.1.2.3/32", "fd00::/8", "::1/128", "0.0.0.0/0"])
    func aNetworkIsWrittenAsItIsRead(text: String) throws {
        #expect(try Self.network(text).text == text)
        #expect(try EgressPolicy.Network(Self.network(text).text) == Self.network(text))
    }

    @Test(arguments: ["", "/", "10.0.0.0/33", "10.0.0/8", "a/8", "10.0.0.0/8/8", "::/129", "/8"])
    func whatIsNoNetworkIsNotRead(text: String) {
        #expect(EgressPolicy.Network(text) == nil)
    }
}
