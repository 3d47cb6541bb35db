/// The result of a request to finish a session.
package enum FinishResult: Sendable {
    /// The session ends with the last of its outstanding tasks.
    case finishing
    /// The session has ended, because no task was outstanding.
    case ended
    case unknownSession
}
