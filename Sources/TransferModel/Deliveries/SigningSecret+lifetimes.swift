package import StandardWebhooks

/// How many secrets a subscription has, and for how long.
extension SigningSecret {
    /// The most keys of one subscription that sign at the same time.
    package static let livingMax = WebhookSigner.secretsMax
    /// The time for which older keys keep signing beside a new one, unless the owner says
    /// otherwise.
    package static let overlapDefault: Duration = .seconds(24 * 3600)
    /// The longest time for which older keys can keep signing.
    package static let overlapMax: Duration = .seconds(7 * 24 * 3600)
}
