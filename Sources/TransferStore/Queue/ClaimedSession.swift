import TransferModel

/// What the tasks of a session have in common when they are claimed; a reference, because each of
/// hundreds of tasks reads it.
final class ClaimedSession: Sendable {
    let tenant: TenantID
    let kind: Session.Kind
    private let options: TransferOptions
    /// The options of a task that has none of its own.
    private let optionsOfMost: TransferOptions
    /// The headers of all tasks; nil if they cannot be opened.
    let headers: [HTTPHeader]?
    let timeoutForRequest: Duration
    let timeoutForResource: Duration
    let maxConnectionsPerHost: Int?
    let hasCredentials: Bool
    let authorities: CertificateAuthorities?
    let isForTests: Bool
    private let limits: RateLimits

    private init(_ row: StoredRow, hasLimitsToRead: Bool) throws(StoreError) {
        tenant = try row.tenant("tenant_id")
        kind = try row.word("kind")
        options = try row.options("options")
        optionsOfMost = options.withDefaults(of: kind)
        let (identifier, client) = (
            try row.decode("identifier", as: String.self), try row.client("client")
        )
        let tenant = self.tenant
        // The tasks of other sessions go on.
        headers = try? row.headers(
            "additional_headers",
            at: .headers(ofSession: identifier, client, tenant)
        )
        timeoutForRequest = try row.milliseconds("timeout_for_request_ms")
        timeoutForResource = try row.milliseconds("timeout_for_resource_ms")
        maxConnectionsPerHost = try row.maxConnectionsPerHost()
        hasCredentials = try row.decode("has_credentials")
        authorities = try row.decodeIfPresent("certificate_authorities")
            .map(CertificateAuthorities.init(stored:))
        isForTests = try row.decode("is_for_tests")
        limits = RateLimits(
            task: nil,
            session: try row.decodeIfPresent("session_rate_max"),
            tenant: try row.decodeIfPresent("tenant_rate_max"),
            version: hasLimitsToRead ? 0 : try row.decode("limits_version")
        )
    }

    /// Returns the options of a task with `own`; nil for none.
    func options(with own: TransferOptions?) -> TransferOptions {
        own.map { options.overridden(by: $0).withDefaults(of: kind) } ?? optionsOfMost
    }

    /// Returns the limits of a task with these options.
    func limits(ofTask options: TransferOptions) -> RateLimits {
        var limits = limits
        limits.task = options.bytesPerSecondMax
        return limits
    }

    /// Reads the rows of ``QueueStore/selectSessions(where:)``.
    ///
    /// Limits that are to be read count as older than any change.
    static func byID(
        _ rows: StoredRows,
        withLimitsToRead hasLimitsToRead: Bool = false
    ) throws(StoreError) -> [SessionID: ClaimedSession] {
        var sessions: [SessionID: ClaimedSession] = [:]
        for row in rows {
            sessions[try row.session("id")] =
                try ClaimedSession(row, hasLimitsToRead: hasLimitsToRead)
        }
        return sessions
    }
}
