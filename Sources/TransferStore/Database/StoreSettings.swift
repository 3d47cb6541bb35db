import TransferModel
package import TransferSecrets

/// The settings that hold for all tenants.
package struct StoreSettings: Sendable {
    /// The time for which an ended task is kept if its session does not say.
    package var resultRetention = SessionConfiguration.resultRetentionDefault

    /// The number of waiting tasks, of all tenants together, beyond which none is accepted.
    package var queueMax = queueMaxDefault

    /// The longest wait for a lock in a transaction whose remaining work is found again or divided.
    package var briefLockTimeout: Duration = .seconds(1)

    /// The longest wait of a submission for a transaction that it shares with others.
    package var submissionWaitMax: Duration = SubmissionGroupBounds().waitMax

    /// The longest time for which a launch carries out what is left of a force-quit.
    package var launchWaitMax: Duration = .seconds(5)

    /// The newest migration that this program knows, which its workers report to others.
    package var schemaVersion = 0

    /// Seals what is secret in rows; nil to store it as it is.
    package var secrets: SecretBox?

    /// The default of the maximum number of tasks outstanding in the whole service.
    package static let queueMaxDefault: Int64 = 20_000_000

    package init() {}
}
