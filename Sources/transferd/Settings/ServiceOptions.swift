import ArgumentParser
import Foundation

/// The options of `transferd serve` beyond the database's.
struct ServiceOptions: ParsableArguments {
    @Option(
        help: """
            What this instance does, separated by commas: api answers clients, worker transfers, \
            webhooks delivers events; all of it by default. [TRANSFERD_ROLES]
            """
    )
    var roles: String?

    @Option(
        help: """
            on, or off to find what other instances did by polls alone; on. [TRANSFERD_LISTEN]
            """
    )
    var listen: String?

    @Option(
        name: .customLong("listen-database-url"),
        help: """
            Leads directly to PostgreSQL for LISTEN and for migrations, when the database's URL leads \
            to a pooler that shares connections between transactions. \
            [TRANSFERD_LISTEN_DATABASE_URL]
            """
    )
    var listenDatabaseURL: String?

    @Option(
        help: """
            Seconds between two looks for what nobody told of, 1 to 3,600; 1. \
            [TRANSFERD_POLL_INTERVAL]
            """
    )
    var pollInterval: Int64?

    @Option(help: "The address to listen on; 127.0.0.1. [TRANSFERD_HOST]")
    var host: String?

    @Option(
        name: .customLong("plain-http"),
        help: """
            loopback, or anywhere to offer the API without TLS on an address that other machines \
            reach, as behind a proxy that has TLS; loopback. [TRANSFERD_PLAIN_HTTP]
            """
    )
    var plainHTTP: String?

    @Option(
        name: .customLong("tls-certificate-file"),
        help: """
            A file with the certificate of the API in PEM, followed by those of the authorities \
            between; plain HTTP without one. Read again when it changes and upon SIGHUP. \
            [TRANSFERD_TLS_CERTIFICATE_FILE]
            """
    )
    var tlsCertificateFile: String?

    @Option(
        name: .customLong("tls-key-file"),
        help: """
            A file with the private key of that certificate in PEM. Only its owner and group may read \
            it. [TRANSFERD_TLS_KEY_FILE]
            """
    )
    var tlsKeyFile: String?

    @Option(help: "The port to listen on, 0 for a free one; 8080. [TRANSFERD_PORT]")
    var port: Int?

    @Option(
        name: .customLong("public-url"),
        help:
            "The service's address as clients know it, for links in webhooks. [TRANSFERD_PUBLIC_URL]"
    )
    var publicURL: String?

    @Option(
        help: """
            on, or off to answer /metrics with 404; on. It needs no key and names no tenant, \
            session or host. [TRANSFERD_METRICS]
            """
    )
    var metrics: String?

    @Option(
        help: """
            on, or off to offer no page at /; on. The page is a client of the API and asks its user \
            for a key. [TRANSFERD_PAGE]
            """
    )
    var page: String?

    @Option(
        help: """
            Connections of clients at once, 64 to 65,536; 4,096. Those that are idle longest are \
            closed for new ones. [TRANSFERD_CONNECTIONS_MAX]
            """
    )
    var connectionsMax: Int?

    @Option(
        help: """
            Of these, connections of one address; three quarters. The loopback address counts like \
            any other; behind one proxy, give it all of them. [TRANSFERD_CONNECTIONS_PER_ADDRESS]
            """
    )
    var connectionsPerAddress: Int?

    @Option(help: "Transfers at once, 1 to 10,000; 256. [TRANSFERD_CONCURRENCY]")
    var concurrency: Int?

    @Option(
        help: """
            Threads that run transfers, 1 to 64; as many as processors, 8 at most. \
            [TRANSFERD_TRANSFER_THREADS]
            """
    )
    var transferThreads: Int?

    @Option(
        help: """
            Connections at once to one host, of all instances together, 1 to 1,000; 6. All instances \
            need the same. [TRANSFERD_CONNECTIONS_PER_HOST]
            """
    )
    var connectionsPerHost: Int?

    @Option(
        help: """
            When tasks of discretionary sessions count like others, in UTC: mon-fri 22:00-06:00, \
            sat-sun. Else they wait until there is nothing else to do. \
            [TRANSFERD_DISCRETIONARY_HOURS]
            """
    )
    var discretionaryHours: String?

    @Option(
        name: .customLong("network-probe-url"),
        help: """
            An http or https address whose response shows that the network can be reached, for \
            background tasks that require it; none. [TRANSFERD_NETWORK_PROBE_URL]
            """
    )
    var networkProbeURL: String?

    @Option(
        help: """
            idle, or busy to hold back background tasks that require idle capacity; idle. \
            [TRANSFERD_CAPACITY]
            """
    )
    var capacity: String?

    @Option(help: "The largest file, in bytes; 1 TiB. [TRANSFERD_FILE_BYTES_MAX]")
    var fileBytesMax: Int64?

    @Option(
        help: """
            How many days events are kept at least, 7 to 730; 30. They are removed by the week. \
            [TRANSFERD_EVENTS_RETENTION]
            """
    )
    var eventsRetention: Int?

    @Option(
        help: """
            How many days ended attempts are kept at least, 7 to 730; 30. They are removed by the \
            week, also of tasks that are kept longer. [TRANSFERD_ATTEMPTS_RETENTION]
            """
    )
    var attemptsRetention: Int?

    @Option(
        help: """
            How many days ended tasks and their results are kept where a session does not say, 1 to \
            3,650; 7. All instances need the same. [TRANSFERD_RESULTS_RETENTION]
            """
    )
    var resultsRetention: Int?

    @Option(
        help: """
            How many days ended sessions and deleted subscriptions are kept at least, 1 to 3,650; \
            30. A session stays for as long as a task or event of it does. \
            [TRANSFERD_SESSIONS_RETENTION]
            """
    )
    var sessionsRetention: Int?

    @Option(
        help: """
            How many days entries of the audit log are kept at least, 1 to 3,650; 90. The digests of \
            the chain stay. [TRANSFERD_AUDIT_RETENTION]
            """
    )
    var auditRetention: Int?

    @Option(
        help: """
            How many tasks of all tenants together may wait; 20,000,000. Beyond it submissions are \
            answered 503. [TRANSFERD_QUEUE_MAX]
            """
    )
    var queueMax: Int64?

    @Option(
        help: """
            A network, such as 10.0.0.0/8, that may be reached although it is not public; may be \
            repeated. [TRANSFERD_ALLOW_NETWORKS, separated by commas]
            """
    )
    var allowNetwork: [String] = []

    @Option(
        help: """
            A network that is never reached, whatever is allowed; may be repeated. \
            [TRANSFERD_DENY_NETWORKS, separated by commas]
            """
    )
    var denyNetwork: [String] = []

    @Option(
        help: """
            A host that is asked, or .example.com for it and all below; may be repeated, and no \
            other host is asked then. Any host without one. \
            [TRANSFERD_ALLOW_HOSTS, separated by commas]
            """
    )
    var allowHost: [String] = []

    @Option(
        help: """
            A host that is never asked, or .example.com for it and all below; may be repeated. \
            [TRANSFERD_DENY_HOSTS, separated by commas]
            """
    )
    var denyHost: [String] = []

    @Option(
        name: .customLong("egress-port"),
        help: """
            A port that may be reached, such as 443; may be repeated. Any port without one. \
            [TRANSFERD_EGRESS_PORTS, separated by commas]
            """
    )
    var egressPort: [UInt16] = []

    @Option(
        name: .customLong("egress-proxy"),
        help: """
            An HTTP proxy, such as http://proxy.example:3128, through which all requests leave, each \
            in a tunnel (CONNECT); none. Names are resolved here, and the proxy is told the address. \
            [TRANSFERD_EGRESS_PROXY]
            """
    )
    var egressProxy: String?

    @Option(
        name: .customLong("egress-proxy-credential-file"),
        help: """
            A file with one line user:password for that proxy. Only its owner and group may read it. \
            [TRANSFERD_EGRESS_PROXY_CREDENTIAL_FILE]
            """
    )
    var egressProxyCredentialFile: String?

    @Option(
        name: .customLong("egress-direct-host"),
        help: """
            A host that is reached without the proxy, or .example.com for it and all below; may be \
            repeated. [TRANSFERD_EGRESS_DIRECT_HOSTS, separated by commas]
            """
    )
    var egressDirectHost: [String] = []

    @Option(
        name: .customLong("nat64-prefix"),
        help: """
            A prefix by which the network reaches IPv4 addresses, such as 2001:db8:64::/96, besides \
            64:ff9b::/96; may be repeated. Such an address counts as the IPv4 address in it. \
            [TRANSFERD_NAT64_PREFIXES, separated by commas]
            """
    )
    var nat64Prefix: [String] = []

    @Option(
        help: """
            A file with the key that seals secrets in the database, 64 hexadecimal digits; older \
            keys may follow, one a line. Only its owner and group may read it. All instances need the \
            same. By default secrets-key in the data directory, made there with a private cluster. \
            [TRANSFERD_SECRETS_KEY_FILE]
            """
    )
    var secretsKeyFile: String?

    @Option(
        help: """
            sealed, or plain to start without a key and store secrets as they are; sealed. \
            [TRANSFERD_SECRETS]
            """
    )
    var secrets: String?

    @Option(
        help: "trace, debug, info, notice, warning, error or critical; info. [TRANSFERD_LOG_LEVEL]"
    )
    var logLevel: String?
}
