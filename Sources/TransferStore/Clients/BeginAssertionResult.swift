package import TransferModel

/// The result of beginning an assertion.
package enum BeginAssertionResult: Sendable {
    case begun(Assertion)
    /// It had begun before, and may have ended.
    case found(Assertion)
    case unknownClient
    /// The client is not running, or its time in the background is over.
    case clientNotRunning
    /// An assertion of another client, or of another name, has this identifier.
    case identifierTaken
}
