package import TransferModel

/// The result of checking a page of sessions.
package struct CountPage: Sendable {
    /// The last session examined; nil when there is none after it.
    package let position: SessionID?
    /// The differences found.
    package let differences: [CountDifference]
}
