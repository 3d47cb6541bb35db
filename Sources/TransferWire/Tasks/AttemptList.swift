/// The attempts of a task.
package struct AttemptList: Codable, Sendable {
    package let items: [AttemptDocument]

    package init(items: [AttemptDocument]) { self.items = items }
}
