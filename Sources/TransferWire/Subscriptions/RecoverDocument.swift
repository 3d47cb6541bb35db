/// The answer to `POST …/recover`.
package struct RecoverDocument: Codable, Sendable {
    /// How many messages will be sent once more.
    package let replays: Int

    package init(replays: Int) { self.replays = replays }
}
