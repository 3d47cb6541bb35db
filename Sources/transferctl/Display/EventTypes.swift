/// The types of the events that are printed: names, and families such as `task.*`.
struct EventTypes {
    /// The types that `openapi.yaml` lists.
    static let known = [
        "task.created", "task.retried", "task.resumed", "task.suspended",
        "task.resumed_at_offset", "task.progress", "task.waiting", "task.will_begin",
        "task.authentication_required", "task.download_finished", "task.completed", "task.failed",
        "task.cancelled", "session.events_pending", "session.events_finished",
        "session.invalidated", "client.lifecycle_changed", "client.removed",
        "assertion.expiring", "assertion.expired", "background_task.launch",
        "background_task.expiring", "background_task.expired", "subscription.disabled",
        "subscription.events_expired",
    ]

    /// Names and families, as the user wrote them; all types if there are none.
    let terms: [String]

    /// The first term that names neither a type nor a family of types.
    var unknownTerm: String? {
        terms.first { term in !Self.known.contains { Self.matches($0, term) } }
    }

    /// Returns whether events of a type are printed.
    func contains(_ type: String) -> Bool {
        terms.isEmpty || terms.contains { Self.matches(type, $0) }
    }

    private static func matches(_ type: String, _ term: String) -> Bool {
        if type == term { return true }
        guard term.hasSuffix(".*") else { return false }
        return type.hasPrefix(term.dropLast())
    }
}
