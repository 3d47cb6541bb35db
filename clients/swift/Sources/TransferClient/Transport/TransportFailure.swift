/// The reason why a request has no response.
public struct TransportFailure: Error, Sendable, CustomStringConvertible {
    /// The kinds of reasons.
    public enum Kind: Sendable {
        /// There was no connection, so nothing was sent.
        case notConnected
        /// The connection ended before the response, or in it.
        case broken
        /// The response did not come in time.
        case timedOut
        /// The caller's task was cancelled.
        case cancelled
        /// The file of the request's body cannot be read, or was changed while it was sent.
        case unreadable
        /// There is a response, but the transport cannot hand it on as it was sent.
        case unusable
    }

    /// The kind of the reason.
    public let kind: Kind
    /// The reason as text for people, without headers or bodies.
    public let reason: String

    /// Describes a failure.
    public init(_ kind: Kind, _ reason: String) {
        self.kind = kind
        self.reason = reason
    }

    /// The reason as text for people.
    public var description: String { reason }
}
