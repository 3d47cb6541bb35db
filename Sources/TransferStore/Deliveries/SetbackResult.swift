/// The result of recording a failed try.
package enum SetbackResult: Equatable, Sendable {
    case recorded
    /// The failed try was recorded, and its subscription is now disabled.
    case disabled
    /// The subscription was changed since the claim: the try was logged and does not count, and the
    /// message is due.
    case outdated
    /// The claim is stale; nothing was recorded.
    case stale
}
