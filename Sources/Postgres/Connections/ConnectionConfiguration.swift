internal import CLibPQ
import Glibc

/// The address of the server and the settings of a connection to it.
package struct ConnectionConfiguration: Sendable {
    /// A `postgres://` URL or a keyword string; libpq reads it, and `PG*` variables fill its gaps.
    ///
    /// It may contain a password: it is never logged and not part of any error.
    let url: String

    /// The longest time for opening a connection to a single host; 5 s unless set.
    package var connectTimeout: Duration = .seconds(5)
    /// The server's `statement_timeout`; 30 s unless set, zero for none.
    package var statementTimeout: Duration = .seconds(30)
    /// The server's `lock_timeout`; 5 s unless set, zero for none.
    package var lockTimeout: Duration = .seconds(5)
    /// The longest wait for the answer to a segment of one statement before we give up the
    /// connection.
    ///
    /// It is 35 s unless set, which lets the server's own timeout expire first. The wait counts
    /// from the answer to the segment ahead of it on the connection, if there is one.
    package var queryDeadline: Duration = .seconds(35)
    /// The longest time for which sent data may stay unacknowledged before the kernel gives up the
    /// connection; 20 s unless the URL or this sets another.
    ///
    /// A socket of this machine has none.
    package var tcpUserTimeout: Duration = .seconds(20)
    /// Whether a server is taken that is no standby although sessions with it are read-only.
    package var takesReadOnlyPrimary = false
    /// The ``queryDeadline`` of a script for `executeScript`; 10 min unless set.
    package var scriptDeadline: Duration = .seconds(600)
    /// The name shown in `pg_stat_activity`, unless the URL sets another.
    package var applicationName = "transferd"
    /// The schemas in which unqualified names are looked up; nil keeps the server's default.
    package var searchPath: String?
    /// Further settings of the server for this connection, by name.
    package var serverSettings: [String: String] = [:]
    /// Whether a pooler may assign another session of the server to each transaction.
    ///
    /// If so, no statement is kept prepared, and every transaction brings the settings with it.
    package var sharesSessions = false
    /// The maximum number of statements that a connection keeps prepared.
    package var preparedStatementsMax = 256
    /// The maximum number of segments in flight on one connection.
    package var segmentsInFlightMax = 64
    /// The maximum number of segments that wait for those in flight on one connection.
    package var segmentsWaitingMax = 1024

    /// Called with the server's address once a connection has been opened, on any thread; not for
    /// a socket of this machine.
    package var onConnected: @Sendable (ServerAddress) -> Void = { _ in }

    /// Creates a configuration with the default settings.
    package init(url: String) { self.url = url }

    /// Returns the longest wait for the answer to a segment of `count` statements.
    ///
    /// The server gives each of them its own ``statementTimeout``, and tells of all at the end.
    /// What is added to ``queryDeadline`` is no more than ``scriptDeadline``.
    func deadline(ofStatements count: Int) -> Duration {
        queryDeadline + min(statementTimeout * max(count - 1, 0), scriptDeadline)
    }

    /// Whether libpq can read the URL; if it cannot, waiting does not help.
    package var isReadable: Bool {
        guard let options = unsafe PQconninfoParse(url, nil) else { return false }
        unsafe PQconninfoFree(options)
        return true
    }
}

extension ConnectionConfiguration {
    /// Whether the connection leaves this machine and nobody has said whether it is encrypted.
    ///
    /// libpq then tries encryption, accepts any certificate, and falls back to none (PostgreSQL
    /// manual, "SSL Support", table of `sslmode`).
    package var leavesEncryptionOpen: Bool {
        let given = parameters
        // A service file may say anything.
        guard given["service"] == nil, given["sslmode"] == nil,
            Self.variable("PGSERVICE") == nil, Self.variable("PGSSLMODE") == nil
        else { return false }
        return leavesThisMachine
    }

    private var leavesThisMachine: Bool {
        Self.hosts(parameters).contains { !Self.isOnThisMachine($0) }
    }

    /// The hosts that libpq tries in turn, without those of a service file; an empty one is the
    /// usual socket of this machine.
    ///
    /// An address counts before the name in its place, and a name where the address is empty
    /// (PostgreSQL manual, "Specifying Multiple Hosts").
    private static func hosts(_ given: [String: String]) -> [String] {
        let names = parts(given["host"] ?? variable("PGHOST"))
        let addresses = parts(given["hostaddr"] ?? variable("PGHOSTADDR"))
        return (0..<max(names.count, addresses.count, 1)).map { place in
            let address = place < addresses.count ? addresses[place] : ""
            return address.isEmpty && place < names.count ? names[place] : address
        }
    }

    private static func parts(_ list: String?) -> [String] {
        list?.split(separator: ",", omittingEmptySubsequences: false).map(String.init) ?? []
    }

    /// Whether the connection leaves this machine and the server need not prove its name.
    ///
    /// Only `verify-full` compares the certificate's name with the host's (PostgreSQL manual, "SSL
    /// Support").
    package var leavesServerUnverified: Bool {
        let given = parameters
        // A service file may say anything.
        guard given["service"] == nil, Self.variable("PGSERVICE") == nil else { return false }
        return leavesThisMachine
            && (given["sslmode"] ?? Self.variable("PGSSLMODE")) != "verify-full"
    }

    private static func isOnThisMachine(_ host: String) -> Bool {
        // A directory, or an abstract name, of a socket.
        host.isEmpty || host.hasPrefix("/") || host.hasPrefix("@") || host == "localhost"
            || host == "::1" || isLoopback(host)
    }

    /// Whether the host is an address of 127.0.0.0/8, and not a name that begins like one.
    private static func isLoopback(_ host: String) -> Bool {
        var address = in_addr()
        guard host.hasPrefix("127.") else { return false }
        return unsafe inet_pton(AF_INET, host, &address) == 1
    }

    private static func variable(_ name: String) -> String? {
        guard let value = unsafe getenv(name) else { return nil }
        let text = unsafe String(cString: value)
        return text.isEmpty ? nil : text
    }

    /// The parameters that the URL gives, by keyword; none if libpq cannot read it.
    private var parameters: [String: String] {
        guard let options = unsafe PQconninfoParse(url, nil) else { return [:] }
        defer { unsafe PQconninfoFree(options) }
        return unsafe Self.values(of: options)
    }

    /// Reads those of libpq's options that have a value, by keyword.
    static func values(of options: UnsafeMutablePointer<PQconninfoOption>) -> [String: String] {
        var parameters: [String: String] = [:]
        var option = unsafe options
        while let keyword = unsafe option.pointee.keyword {
            if let value = unsafe option.pointee.val {
                let text = unsafe String(cString: value)
                if !text.isEmpty { parameters[unsafe String(cString: keyword)] = text }
            }
            unsafe option += 1
        }
        return parameters
    }
}

extension ConnectionConfiguration {
    /// The seconds after which one of several hosts is passed over, unless the URL sets
    /// `connect_timeout`.
    private static let hostSecondsDefault = 3
    /// The seconds that libpq gives an address at least, and the most that are added for one here.
    private static let hostSeconds = 2...30
    /// The number of addresses that a name of one of several hosts may have.
    private static let addressesMax = 4
    /// The longest time that is added for all addresses but the first.
    private static let furtherAddressesTimeoutMax: Duration = .seconds(120)

    /// The longest time for opening a connection to one of its hosts.
    ///
    /// It is ``connectTimeout`` and, where there are several hosts, for each further address the
    /// time after which one that does not answer is passed over. How many a name has is known to
    /// libpq alone.
    var openingTimeout: Duration {
        let given = parameters
        let hosts = Self.hosts(given)
        guard hosts.count > 1 else { return connectTimeout }
        let addressCount = hosts.reduce(0) { $0 + (Self.isAddress($1) ? 1 : Self.addressesMax) }
        let secondsGiven = Self.secondsGiven(in: given) ?? 0
        let seconds = secondsGiven == 0 ? Self.hostSecondsDefault : secondsGiven
        let bounded = min(max(seconds, Self.hostSeconds.lowerBound), Self.hostSeconds.upperBound)
        return connectTimeout
            + min(
                Duration.seconds(bounded) * (addressCount - 1),
                Self.furtherAddressesTimeoutMax
            )
    }

    /// Whether libpq looks up no name for the host: an address, or the place of a socket.
    private static func isAddress(_ host: String) -> Bool {
        host.hasPrefix("/") || host.hasPrefix("@") || host.contains(":")
            || host.allSatisfy { $0 == "." || ("0"..."9").contains($0) }
    }

    /// What to do about several hosts of which none has answered, for the log; empty for a single
    /// one.
    var remedyForSilence: String {
        let hosts = Self.hosts(parameters)
        guard hosts.count > 1 else { return "" }
        return """
            none of the hosts "\(hosts.joined(separator: ", "))" answered within \
            \(openingTimeout); leave out those that are gone, or set a shorter connect_timeout
            """
    }

    /// The seconds after which libpq passes over a host, as the URL sets them; zero for never.
    private static func secondsGiven(in parameters: [String: String]) -> Int? {
        parameters["connect_timeout"].flatMap { Int($0) }.map { max($0, 0) }
    }

    /// Keywords and values for libpq; of two with the same keyword, the later one counts.
    var connectionParameters: [(keyword: String, value: String)] {
        var list: [(keyword: String, value: String)] = [
            // Otherwise encryption by Kerberos is tried first, at the cost of a look at its cache.
            ("gssencmode", "disable"),
            // A vanished peer is noticed within about 25 s.
            ("keepalives", "1"),
            ("keepalives_idle", "10"),
            ("keepalives_interval", "5"),
            ("keepalives_count", "3"),
            ("tcp_user_timeout", "\(Int64(tcpUserTimeout / .milliseconds(1)))"),
            ("application_name", applicationName),
            // Of several hosts a standby is passed over. A server says at once which it is; before
            // PostgreSQL 14, and through some poolers, libpq asks (manual, "Parameter Key Words").
            ("target_session_attrs", "read-write"),
            ("connect_timeout", "\(Self.hostSecondsDefault)"),
            // The URL overrides everything above and nothing below.
            ("dbname", url),
            ("client_encoding", "UTF8"),
        ]
        // Without a limit, a silent host would hold the thread for as long as the kernel tries.
        if Self.secondsGiven(in: parameters) == 0 {
            list.append(("connect_timeout", "\(Self.hostSecondsDefault)"))
        }
        if takesReadOnlyPrimary { list.append(("target_session_attrs", "primary")) }
        return list
    }

    /// The settings by which the server notices a client that has vanished, or reads no more, and
    /// ends its transaction; as here for a server that has vanished.
    ///
    /// A socket of the server's machine ignores those of TCP. A client that is idle has not
    /// vanished: one that listens may say nothing for hours.
    private static let clientWatch: [(name: String, value: String?)] = [
        ("tcp_keepalives_idle", "10s"), ("tcp_keepalives_interval", "5s"),
        ("tcp_keepalives_count", "3"), ("tcp_user_timeout", "20s"),
        ("idle_session_timeout", "0"), ("idle_in_transaction_session_timeout", "0"),
    ]

    /// The query that sets what every connection relies on.
    ///
    /// It is a query and not part of the start-up packet, which poolers restrict. The settings hold
    /// for the session or, where sessions are shared, for the transaction.
    ///
    /// A commit waits for the disk, or for standbys where the server, the database or the role says
    /// so; only ``serverSettings`` can do without.
    var settingsQuery: Query {
        var settings: [(name: String, value: String?)] = [
            ("statement_timeout", Self.milliseconds(statementTimeout)),
            ("lock_timeout", Self.milliseconds(lockTimeout)),
            ("TimeZone", "UTC"),
            ("default_transaction_isolation", "read committed"),
            ("standard_conforming_strings", "on"),
            ("synchronous_commit", serverSettings["synchronous_commit"] == nil ? "on" : nil),
            ("search_path", searchPath),
        ]
        // Behind a pooler that shares sessions, the server's client is the pooler.
        if !sharesSessions { settings += Self.clientWatch }
        settings += serverSettings.map { ($0.key, $0.value) }
        let present = settings.filter { $0.value != nil }
        return """
            SELECT set_config(name, value, \(sharesSessions))
            FROM unnest(\(present.map(\.name)), \(present.compactMap(\.value))) AS s (name, value)
            WHERE CASE name
                WHEN 'synchronous_commit'
                    THEN value <> 'on' OR current_setting('synchronous_commit') = 'off'
                -- Since PostgreSQL 14.
                WHEN 'idle_session_timeout' THEN current_setting(name, true) IS NOT NULL
                ELSE true END
            """
    }

    private static func milliseconds(_ duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        return "\(seconds * 1000 + attoseconds / 1_000_000_000_000_000)ms"
    }
}
