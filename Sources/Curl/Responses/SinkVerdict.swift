/// The decision whether a transfer continues.
package enum SinkVerdict: Sendable {
    /// The transfer continues.
    case proceed
    /// The transfer ends; `finish` follows with `aborted`.
    case abort
}
