/// The answer to `POST …/rotate-secret`.
public struct SigningSecretDocument: Codable, Sendable {
    /// The secret, `whsec_…`, which is shown only here.
    public let secret: String
    /// The time until which the earlier secrets also sign; absent when they are gone.
    public let previousSecretsExpireAt: Timestamp?

    /// Creates the value from its parts.
    public init(secret: String, previousSecretsExpireAt: Timestamp?) {
        self.secret = secret
        self.previousSecretsExpireAt = previousSecretsExpireAt
    }

    private enum CodingKeys: String, CodingKey {
        case secret
        case previousSecretsExpireAt = "previous_secrets_expire_at"
    }
}
