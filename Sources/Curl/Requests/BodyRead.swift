/// What became of reading a request's body from its source.
package enum BodyRead: Sendable, Equatable {
    /// So many bytes were read; zero is the end of the body.
    case bytes(Int)
    /// There are none yet: sending pauses until ``CurlTransfer/proceed()``.
    case later
    /// Reading failed, which ends the transfer with `bodySourceFailed`.
    case failed
}
