import Foundation

/// Where the bytes of a large request body come from; called on the loop's thread only.
package protocol CurlBodySource: AnyObject, Sendable {
    /// How many bytes there are, or nil to send them in chunks of unsaid total.
    var length: Int64? { get }
    /// Fills the front of `buffer` and returns the count: 0 at the end, nil when reading failed.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int?
    /// Starts over at the first byte; false when that is not possible.
    func rewind() -> Bool
}
