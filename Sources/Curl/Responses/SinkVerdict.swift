/// The decision whether a transfer continues.
package enum SinkVerdict: Sendable {
    /// The transfer continues.
    case proceed
    /// The piece of a body was not taken: receiving pauses, and the piece comes again after
    /// ``CurlTransfer/proceed()``. For heads, the same as `proceed`.
    case later
    /// For heads: the transfer continues, and the sink drops the body, however long it is
    /// (``CurlRequest/bodyBytesMax``). For pieces, the same as `proceed`.
    case discard
    /// The transfer ends; `finish` follows with `aborted`.
    case abort
}
