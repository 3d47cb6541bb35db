/// The answer to `POST …/rotate-secret`.
package struct SigningSecretDocument: Codable, Sendable {
    /// The secret, `whsec_…`, which is shown only here.
    package let secret: String
    /// The time until which the earlier secrets also sign; absent when they are gone.
    package let previousSecretsExpireAt: Timestamp?

    package init(secret: String, previousSecretsExpireAt: Timestamp?) {
        self.secret = secret
        self.previousSecretsExpireAt = previousSecretsExpireAt
    }

    private enum CodingKeys: String, CodingKey {
        case secret
        case previousSecretsExpireAt = "previous_secrets_expire_at"
    }
}
