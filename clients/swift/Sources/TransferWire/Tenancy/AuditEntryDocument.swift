/// An entry of the audit log: a call that changed something, or was refused.
public struct AuditEntryDocument: Codable, Sendable {
    /// The time at which the entry was recorded.
    public let recordedAt: Timestamp
    /// The identifier of the key, or the user who ran a command; absent for a request without a
    /// key.
    public let actor: String?
    /// The identifier of the tenant; only where entries of all tenants are listed.
    public let tenant: String?
    /// The address that the request came from.
    public let peer: String?
    /// The method of a request, or the words of a command.
    public let action: String
    /// The path of a request, or what a command names.
    public let object: String
    /// The status of the answer; absent for an entry that was written with the change itself.
    public let status: Int?
    /// The code of the problem, if the answer was one.
    public let code: String?
    /// The `X-Request-Id` of the answer; absent for a command.
    public let requestID: String?

    /// Creates the value from its parts.
    public init(
        recordedAt: Timestamp,
        actor: String?,
        tenant: String? = nil,
        peer: String?,
        action: String,
        object: String,
        status: Int?,
        code: String?,
        requestID: String?
    ) {
        self.recordedAt = recordedAt
        self.actor = actor
        self.tenant = tenant
        self.peer = peer
        self.action = action
        self.object = object
        self.status = status
        self.code = code
        self.requestID = requestID
    }

    private enum CodingKeys: String, CodingKey {
        case actor, tenant, peer, action, object, status, code
        case recordedAt = "recorded_at"
        case requestID = "request_id"
    }
}
