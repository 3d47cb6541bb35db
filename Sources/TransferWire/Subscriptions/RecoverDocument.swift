/// The answer to `POST …/recover`.
package struct RecoverDocument: Codable, Sendable {
    /// The number of messages that will be sent again.
    package let replays: Int

    package init(replays: Int) { self.replays = replays }
}
