/// A failure between us and PostgreSQL.
package struct PostgresError: Error, Equatable, Sendable {
    /// The kinds of failure, on which callers base their decisions.
    package enum Code: String, CaseIterable, Sendable {
        /// No connection could be used, and nothing was sent: repeat when the server is back.
        case connectionFailed
        /// The connection broke with the statements in flight: they may or may not have happened.
        case connectionLost
        /// No answer came in time and the connection was given up: as ``connectionLost``.
        case deadlineExceeded
        /// All connections stayed busy, and nothing was sent: shed load.
        case poolExhausted
        /// The pool or connection is closing, and nothing was sent.
        case poolClosed
        /// The caller's task was cancelled while it waited, and nothing was sent.
        case cancelled
        /// The server refused a statement; ``sqlState`` says why and nothing of the segment stays.
        case server
        /// A value cannot be expressed in its PostgreSQL type, and nothing was sent.
        case encoding
        /// A result does not have the column or type that the code expects.
        case decoding
    }

    /// The kind of failure.
    package let code: Code
    /// The five characters of the SQLSTATE (PostgreSQL manual, appendix A), if the server sent one.
    package let sqlState: String?
    /// The violated constraint, if any.
    package let constraint: String?
    /// Our own text, which contains names but never values.
    let summary: String
    /// The text from the server or libpq, without parts that quote values: for the log only.
    let details: String

    init(
        _ code: Code,
        _ summary: String,
        details: String = "",
        sqlState: String? = nil,
        constraint: String? = nil
    ) {
        self.code = code
        self.sqlState = sqlState
        self.constraint = constraint
        self.summary = summary
        self.details = details
    }

    /// The error of a session in which nothing can be changed.
    package static let readOnly = PostgresError(
        .server,
        "the database is read-only",
        sqlState: readOnlyState
    )

    /// The SQLSTATE of a change on a standby, or in a session that is read-only otherwise.
    private static let readOnlyState = "25006"

    /// Whether the server has ended the session with this error, as at its shutdown.
    var isEndOfSession: Bool {
        guard code == .server, let sqlState else { return false }
        // Operator intervention, connection exceptions, and a transaction that was idle too long.
        return sqlState.hasPrefix("57P") || sqlState.hasPrefix("08") || sqlState == "25P03"
    }

    /// Whether nothing can be changed in the session, for example on a standby after a failover.
    var isReadOnly: Bool { code == .server && sqlState == Self.readOnlyState }

    /// Whether the server has refused something because its disk is full, or its quota of it used
    /// up.
    ///
    /// PostgreSQL has no code for a quota, only the system's words, and those may be of another
    /// language: then it is one of its troubles (``isInternal``).
    package var lacksSpace: Bool {
        sqlState == "53100" || isInternal && details.firstRange(of: Self.quotaUsedUp) != nil
    }

    /// What strerror(3) says of `EDQUOT`.
    private static let quotaUsedUp = ": Disk quota exceeded"

    /// Whether the server has failed for a reason of its own, which says nothing of the statements:
    /// class XX, for a defect, for damaged data, and for what the system refuses it without a code.
    package var isInternal: Bool { code == .server && sqlState?.hasPrefix("XX") ?? false }

    /// The server's or libpq's own reason, in one short line.
    ///
    /// It contains no values, secrets, names or addresses, so that it may be told to anybody.
    package var reason: String {
        let line = details.split(whereSeparator: \.isNewline).first.map(String.init) ?? summary
        let words = Self.withoutNames(line)
        // As in `connection to server at "db" (10.0.0.1), port 5432 failed: FATAL:  the reason`.
        let marks = [" failed: ", "FATAL:  "]
        let reason = marks.reduce(Substring(words)) { text, mark in
            text.firstRange(of: mark).map { text[$0.upperBound...] } ?? text
        }
        return String((reason.isEmpty ? summary[...] : reason).prefix(Self.reasonLengthMax))
    }

    /// Leaves out what is in quotation marks: libpq and the server quote hosts, paths and roles.
    private static func withoutNames(_ text: String) -> String {
        let parts = text.split(separator: "\"", omittingEmptySubsequences: false)
        return parts.enumerated().map { $0.offset.isMultiple(of: 2) ? $0.element : "…" }
            .joined(separator: "\"")
    }

    private static let reasonLengthMax = 200

    /// Whether the same statements may succeed when they are sent again unchanged.
    ///
    /// After ``Code/connectionLost`` and ``Code/deadlineExceeded`` they may already have happened:
    /// repeat only what is safe to repeat.
    package var isRetryable: Bool {
        switch code {
        case .connectionFailed, .connectionLost, .deadlineExceeded, .poolExhausted: true
        case .poolClosed, .cancelled, .encoding, .decoding: false
        case .server: lacksSpace || Self.isRetryable(sqlState: sqlState ?? "")
        }
    }

    /// Whether the server itself undid the transaction, so that it can be sent again at once.
    package var isUndone: Bool { code == .server && isRetryable && !isUnavailable }

    /// Whether the database as a whole cannot serve now, which HTTP reports as 503.
    package var isUnavailable: Bool {
        switch code {
        case .connectionFailed, .connectionLost, .deadlineExceeded, .poolExhausted, .poolClosed:
            true
        case .cancelled, .encoding, .decoding: false
        case .server: lacksSpace || Self.isUnavailable(sqlState: sqlState ?? "")
        }
    }

    /// Whether the server has given up on these statements alone.
    ///
    /// The cause is a lock, their own duration (`lock_timeout`, `statement_timeout`), or other
    /// statements that wait for each other.
    package var isContended: Bool {
        code == .server && ["55P03", "57014", "40P01", "40001"].contains(sqlState)
    }

    private static func isRetryable(sqlState: String) -> Bool {
        switch sqlState {
        // Serialization failure and deadlock: the standard requires running the transaction again.
        case "40001", "40P01": true
        // The plan or statement of this connection went stale; the cache has already forgotten it.
        case "26000": true
        default: isUnavailable(sqlState: sqlState)
        }
    }

    private static func isUnavailable(sqlState: String) -> Bool {
        switch sqlState {
        // Shutdown, crash recovery and start-up; a dropped database or a standby's conflict.
        case "57P01", "57P02", "57P03", "57P05": true
        // statement_timeout and lock_timeout: the server takes longer than we wait.
        case "57014", "55P03": true
        case readOnlyState: true
        // Classes: connection exception, insufficient resources, system error.
        default: sqlState.hasPrefix("08") || sqlState.hasPrefix("53") || sqlState.hasPrefix("58")
        }
    }
}

extension PostgresError: CustomStringConvertible, CustomDebugStringConvertible {
    package var description: String {
        var text = "\(code.rawValue): \(summary)"
        if let sqlState { text += " (SQLSTATE \(sqlState))" }
        if let constraint { text += " (constraint \(constraint))" }
        return text
    }

    package var debugDescription: String {
        details.isEmpty ? description : "\(description): \(details)"
    }
}
