import Foundation

/// The source of the bytes of a large request body; called on the loop's thread only.
package protocol CurlBodySource: AnyObject, Sendable {
    /// The number of bytes, or nil to send them in chunks without announcing a total.
    ///
    /// A source that gives more ends the transfer with `bodySourceFailed`.
    var length: Int64? { get }
    /// Fills the start of `buffer`.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> BodyRead
    /// Returns to the first byte; returns false when that is not possible.
    func rewind() -> Bool
}
