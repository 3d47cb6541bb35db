/// A part of a session's events.
package struct EventPage: Codable, Sendable {
    /// The events of this page.
    package let items: [EventMessage]
    /// The next value of `after`: `session_id:sequence` of the last event of this page, or the one
    /// that the request named.
    package let next: String

    package init(items: [EventMessage], next: String) {
        self.items = items
        self.next = next
    }
}
