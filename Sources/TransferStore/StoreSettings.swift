import TransferModel

/// What the operator has decided for all tenants.
package struct StoreSettings: Sendable {
    /// How long an ended task is kept whose session does not say.
    package var resultRetention = SessionConfiguration.resultRetentionDefault

    package init() {}
}
