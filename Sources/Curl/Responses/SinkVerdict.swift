/// The decision whether a transfer continues.
package enum SinkVerdict: Sendable {
    /// The transfer continues.
    case proceed
    /// The piece of a body was not taken: receiving pauses, and the piece comes again after
    /// ``CurlTransfer/proceed()``. For heads, the same as `proceed`.
    case later
    /// The transfer ends; `finish` follows with `aborted`.
    case abort
}
