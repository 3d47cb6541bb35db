/// The attempts of a task.
package struct AttemptList: Codable, Sendable {
    /// The attempts that are listed.
    package let items: [AttemptDocument]

    package init(items: [AttemptDocument]) { self.items = items }
}
