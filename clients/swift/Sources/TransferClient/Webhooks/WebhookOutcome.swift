/// What came of a request to a ``WebhookHandler``.
public struct WebhookOutcome: Sendable {
    /// The status to respond with; the body stays empty.
    public let status: Int
    /// Why the message was refused, or what the program threw: for its log.
    public let error: (any Error)?
    /// Whether the message came before, and so was not handed to the program.
    public let isRepetition: Bool

    init(status: Int, error: (any Error)? = nil, isRepetition: Bool = false) {
        self.status = status
        self.error = error
        self.isRepetition = isRepetition
    }
}
