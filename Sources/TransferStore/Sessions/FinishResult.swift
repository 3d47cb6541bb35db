/// What became of a request to finish a session.
package enum FinishResult: Sendable {
    /// It ends with the last of its outstanding tasks.
    case finishing
    /// Nothing was outstanding.
    case ended
    case unknownSession
}
