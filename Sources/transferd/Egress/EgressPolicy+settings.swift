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
        allowedHosts = Self.hosts(options.allowHost, "TRANSFERD_ALLOW_HOSTS", &reader)
        deniedHosts = Self.hosts(options.denyHost, "TRANSFERD_DENY_HOSTS", &reader)
        directHosts = Self.hosts(
            options.egressDirectHost,
            "TRANSFERD_EGRESS_DIRECT_HOSTS",
            &reader
        )
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

    private static func hosts(
        _ options: [String],
        _ variable: String,
        _ reader: inout SettingsReader
    ) -> [String] {
        reader.list(options, variable).map { text in
            guard let name = hostName(text) else {
                reader.refuse("\(variable): \(text) is not a host such as example.com, in ASCII")
                return text
            }
            return name
        }
    }
}
