/// The attempts of a task.
public struct AttemptList: Codable, Sendable {
    /// The attempts that are listed.
    public let items: [AttemptDocument]

    /// Creates the value from its parts.
    public init(items: [AttemptDocument]) { self.items = items }
}
