/// A part of a session's events.
package struct EventPage: Codable, Sendable {
    package let items: [EventMessage]
    /// What to ask `after` next: `session_id:sequence` of the last event of this page, or of the one
    /// asked for.
    package let next: String

    package init(items: [EventMessage], next: String) {
        self.items = items
        self.next = next
    }
}
