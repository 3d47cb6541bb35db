import Foundation
import TransferModel

/// The rules of a tenant as the database has them.
struct StoredEgressRules: Codable {
    let allow_networks: [String]?
    let deny_networks: [String]?
    let allow_hosts: [String]?
    let deny_hosts: [String]?
    let ports: [UInt16]?

    init(_ rules: EgressRules) {
        func some<Element>(_ list: [Element]) -> [Element]? { list.isEmpty ? nil : list }
        allow_networks = some(rules.allowedNetworks.map(\.text))
        deny_networks = some(rules.deniedNetworks.map(\.text))
        allow_hosts = some(rules.allowedHosts)
        deny_hosts = some(rules.deniedHosts)
        ports = some(rules.ports.sorted())
    }
}

extension EgressRules {
    /// Reads stored rules; those that cannot be read deny everything rather than nothing.
    init(stored text: String) {
        self.init()
        guard let stored = try? StoredJSON.decode(StoredEgressRules.self, text),
            let allowed = Self.networks(stored.allow_networks),
            let denied = Self.networks(stored.deny_networks)
        else {
            denyEverything = true
            return
        }
        (allowedNetworks, deniedNetworks) = (allowed, denied)
        (allowedHosts, deniedHosts) = (stored.allow_hosts ?? [], stored.deny_hosts ?? [])
        ports = Set(stored.ports ?? [])
    }

    private static func networks(_ texts: [String]?) -> [EgressPolicy.Network]? {
        let networks = (texts ?? []).map { EgressPolicy.Network($0) }
        return networks.contains { $0 == nil } ? nil : networks.compactMap(\.self)
    }
}
