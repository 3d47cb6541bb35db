/// Whether a transfer goes on.
package enum SinkVerdict: Sendable {
    /// Go on.
    case proceed
    /// End the transfer; `finish` follows with `aborted`.
    case abort
}
