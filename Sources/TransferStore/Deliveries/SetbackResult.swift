/// What became of a failed try that was recorded.
package enum SetbackResult: Equatable, Sendable {
    case recorded
    /// And its subscription is disabled now.
    case disabled
    /// The claim is stale; nothing was recorded.
    case stale
}
