/// What became of a delivery by the end of its claim.
package enum DeliveryRelease: Sendable {
    /// There are further events.
    case due
    case idle
    /// The claim had ended before; nothing was changed.
    case stale
}
