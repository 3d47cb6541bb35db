internal import CLibPQ

/// Where the server is, and how long to wait for it.
package struct ConnectionConfiguration: Sendable {
    /// A `postgres://` URL or a keyword string; libpq reads it, and `PG*` variables fill its gaps.
    ///
    /// It may hold a password: it is never logged and not part of any error.
    let url: String

    /// How long opening a connection may take; 5 s unless set.
    package var connectTimeout: Duration = .seconds(5)
    /// The server's `statement_timeout`; 30 s unless set, zero for none.
    package var statementTimeout: Duration = .seconds(30)
    /// The server's `lock_timeout`; 5 s unless set, zero for none.
    package var lockTimeout: Duration = .seconds(5)
    /// How long we wait for the answer to a segment before we give the connection up; 35 s unless
    /// set, which leaves the server's own timeout the time to speak first.
    package var queryDeadline: Duration = .seconds(35)
    /// As ``queryDeadline`` for a script of `executeScript`; 10 min unless set.
    package var scriptDeadline: Duration = .seconds(600)
    /// What `pg_stat_activity` shows, unless the URL says otherwise.
    package var applicationName = "transferd"
    /// The schemas that unqualified names are looked up in; nil leaves the server's default.
    package var searchPath: String?
    /// Further settings of the server for this connection, by name.
    package var serverSettings: [String: String] = [:]
    /// Whether a pooler gives out another session of the server for each transaction: then no
    /// statement is kept prepared, and every transaction brings the settings with it.
    package var sharesSessions = false
    /// How many statements a connection keeps prepared.
    package var preparedStatementsMax = 256
    /// How many segments may be in flight on one connection.
    package var segmentsInFlightMax = 64
    /// How many segments may wait for those in flight on one connection.
    package var segmentsWaitingMax = 1024

    /// Settings with every default.
    package init(url: String) { self.url = url }

    /// Whether libpq can read the URL; one that it cannot leads nowhere, however long one waits.
    package var isReadable: Bool {
        guard let options = unsafe PQconninfoParse(url, nil) else { return false }
        unsafe PQconninfoFree(options)
        return true
    }
}

extension ConnectionConfiguration {
    /// Keywords and values for libpq; of two with the same keyword the later one counts.
    var connectionParameters: [(keyword: String, value: String)] {
        [
            // Encrypting by Kerberos is tried first otherwise, at the cost of a look at its cache.
            ("gssencmode", "disable"),
            // A peer that vanished is noticed within some 25 s, sent data unanswered within 20 s.
            ("keepalives", "1"),
            ("keepalives_idle", "10"),
            ("keepalives_interval", "5"),
            ("keepalives_count", "3"),
            ("tcp_user_timeout", "20000"),
            ("application_name", applicationName),
            // Everything above yields to what the URL says, nothing below does.
            ("dbname", url),
            ("client_encoding", "UTF8"),
        ]
    }

    /// Sets what every connection relies on.
    ///
    /// Done by a query and not by the start-up packet, which poolers restrict. They are the
    /// session's or, where those are shared, the transaction's.
    var settingsQuery: Query {
        var settings: [(name: String, value: String?)] = [
            ("statement_timeout", Self.milliseconds(statementTimeout)),
            ("lock_timeout", Self.milliseconds(lockTimeout)),
            ("TimeZone", "UTC"),
            ("default_transaction_isolation", "read committed"),
            ("search_path", searchPath),
        ]
        settings += serverSettings.map { ($0.key, $0.value) }
        let present = settings.filter { $0.value != nil }
        return """
            SELECT set_config(name, value, \(sharesSessions))
            FROM unnest(\(present.map(\.name)), \(present.compactMap(\.value))) AS s (name, value)
            """
    }

    private static func milliseconds(_ duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        return "\(seconds * 1000 + attoseconds / 1_000_000_000_000_000)ms"
    }
}
