/// The answer to `POST …/recover`.
public struct RecoverDocument: Codable, Sendable {
    /// The number of messages that will be sent again.
    public let replays: Int

    /// Creates the value from its parts.
    public init(replays: Int) { self.replays = replays }
}
