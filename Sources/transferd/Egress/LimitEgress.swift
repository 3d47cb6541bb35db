import ArgumentParser
import TransferModel
import TransferStore

/// `transferd tenants egress`: where requests of a tenant may go.
struct LimitEgress: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "egress",
        abstract: "Say where the transfers and webhooks of a tenant may go, or show it.",
        discussion: """
            Within what the service allows, and never beyond that. What is named replaces all that was \
            said before; --none takes it away, and without any of these the rules are shown. Holds \
            within five seconds on every instance, also for connections that are open.
            """
    )

    @Option(help: "The tenant.")
    var tenant = Keys.tenantDefault

    @Option(help: "The only networks to reach, as 203.0.113.0/24; may be repeated.")
    var allowNetwork: [String] = []

    @Option(help: "A network never to reach; may be repeated.")
    var denyNetwork: [String] = []

    @Option(
        help: "The only hosts to ask: a name, or .example.com for it and all below; repeatable."
    )
    var allowHost: [String] = []

    @Option(help: "A host never to ask; may be repeated.")
    var denyHost: [String] = []

    @Option(help: "The only ports to reach; may be repeated.")
    var port: [UInt16] = []

    @Flag(help: "Takes all rules away.")
    var none = false

    @OptionGroup var database: DatabaseOptions

    private var isNamed: Bool {
        ![allowNetwork, denyNetwork, allowHost, denyHost].allSatisfy(\.isEmpty) || !port.isEmpty
    }

    func validate() throws {
        guard !(none && isNamed) else { throw ValidationError("--none goes with no rule.") }
        _ = try rules()
    }

    private func rules() throws -> EgressRules {
        var rules = EgressRules()
        rules.allowedNetworks = try allowNetwork.map { try Self.network($0, "--allow-network") }
        rules.deniedNetworks = try denyNetwork.map { try Self.network($0, "--deny-network") }
        rules.allowedHosts = try allowHost.map { try Self.host($0, "--allow-host") }
        rules.deniedHosts = try denyHost.map { try Self.host($0, "--deny-host") }
        rules.ports = Set(port)
        let counts = [allowNetwork, denyNetwork, allowHost, denyHost].map(\.count) + [port.count]
        guard counts.allSatisfy({ $0 <= EgressRules.countMax }) else {
            throw ValidationError("Each kind of rule may have \(EgressRules.countMax) entries.")
        }
        guard !rules.ports.contains(0) else { throw ValidationError("--port is from 1 to 65535.") }
        return rules
    }

    private static func network(_ text: String, _ option: String) throws -> EgressPolicy.Network {
        guard let network = EgressPolicy.Network(text) else {
            throw ValidationError("\(option): \(text) is not a network such as 203.0.113.0/24.")
        }
        return network
    }

    private static func host(_ text: String, _ option: String) throws -> String {
        guard let name = EgressPolicy.hostName(text) else {
            throw ValidationError("\(option): \(text) is not a host such as example.com, in ASCII.")
        }
        return name
    }

    func run() async throws {
        try await Command.withStore(database) { database in
            let store = TenantStore(database)
            guard let known = try await store.egressRules(ofTenantNamed: tenant) else {
                throw Command.Refusal.unknownTenant
            }
            guard none || isNamed else { return Self.show(known) }
            let rules = try rules()
            let isSet = try await Command.audited("tenants egress", about: tenant, in: database) {
                try await store.setEgressRules(rules, ofTenantNamed: tenant)
            }
            guard isSet else {
                throw Command.Refusal(
                    "\(TenantStore.egressRulesMax) other tenants have rules, and more may not."
                )
            }
        }
    }

    private static func show(_ rules: EgressRules) {
        if rules.denyEverything { print("nothing is reached: a newer release has set the rules") }
        for network in rules.allowedNetworks { print("allow-network\t\(network.text)") }
        for network in rules.deniedNetworks { print("deny-network\t\(network.text)") }
        for host in rules.allowedHosts { print("allow-host\t\(host)") }
        for host in rules.deniedHosts { print("deny-host\t\(host)") }
        for port in rules.ports.sorted() { print("port\t\(port)") }
    }
}
