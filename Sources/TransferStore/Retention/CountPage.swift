package import TransferModel

/// What a page of sessions came to.
package struct CountPage: Sendable {
    /// The last session looked at; nil when there is none behind it.
    package let position: SessionID?
    package let differences: [CountDifference]
}
