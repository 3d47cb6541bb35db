/// The answer to `POST …/rotate-secret`.
package struct SigningSecretDocument: Codable, Sendable {
    /// `whsec_…`; only here.
    package let secret: String
    /// Until when the secrets before it sign too; absent when they are gone.
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
