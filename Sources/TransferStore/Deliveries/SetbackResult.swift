/// The result of recording a failed try.
package enum SetbackResult: Equatable, Sendable {
    case recorded
    /// The failed try was recorded, and its subscription is now disabled.
    case disabled
    /// The claim is stale; nothing was recorded.
    case stale
}
