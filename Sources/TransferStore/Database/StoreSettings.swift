import TransferModel

/// What the operator has decided for all tenants.
package struct StoreSettings: Sendable {
    /// How long an ended task is kept whose session does not say.
    package var resultRetention = SessionConfiguration.resultRetentionDefault

    /// Tasks that wait for anything, of all tenants together, beyond which none is taken.
    package var queueMax = queueMaxDefault

    /// The newest migration that this program knows, which its workers tell others.
    package var schemaVersion = 0

    /// The default of the maximum number of tasks outstanding in the whole service.
    package static let queueMaxDefault: Int64 = 20_000_000

    package init() {}
}
