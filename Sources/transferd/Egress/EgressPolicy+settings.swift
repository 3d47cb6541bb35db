import TransferModel

extension EgressPolicy {
    /// Reads what may be reached and what not.
    init(_ options: ServiceOptions, _ reader: inout SettingsReader) {
        self.init(
            allowed: reader.networks(
                options.allowNetwork,
                "--allow-network",
                "TRANSFERD_ALLOW_NETWORKS"
            )
        )
        denied = reader.networks(
            options.denyNetwork,
            "--deny-network",
            "TRANSFERD_DENY_NETWORKS"
        )
        deniedHosts = reader.list(options.denyHost, "TRANSFERD_DENY_HOSTS").map { text in
            guard let name = Self.hostName(text) else {
                reader.refuse(
                    "TRANSFERD_DENY_HOSTS: \(text) is not a host such as example.com, in ASCII"
                )
                return text
            }
            return name
        }
        ports = Set(options.egressPort)
        for text in reader.list([], "TRANSFERD_EGRESS_PORTS") {
            if let port = UInt16(text), port > 0 {
                ports.insert(port)
            } else {
                reader.refuse("TRANSFERD_EGRESS_PORTS: \(text) is not a port from 1 to 65535")
            }
        }
        translations = reader.networks(
            options.nat64Prefix,
            "--nat64-prefix",
            "TRANSFERD_NAT64_PREFIXES"
        )
        for network in translations
        where network.isIPv4 || !Self.translationLengths.contains(network.length) {
            let lengths = Self.translationLengths.map { "/\($0)" }.joined(separator: ", ")
            reader.refuse(
                "TRANSFERD_NAT64_PREFIXES: a prefix is an IPv6 network with one of \(lengths)"
            )
        }
    }
}
