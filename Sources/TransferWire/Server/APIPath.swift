/// Where things are, for `Location` headers and links.
package enum APIPath {
    /// A session, by the identifier its client gave it; no client is the one every tenant has.
    package static func session(_ identifier: String, of client: String? = nil) -> String {
        "/v1/sessions/\(PercentEncoding.encodeSegment(identifier))\(query(client))"
    }

    /// The tasks of a session.
    package static func tasks(ofSession identifier: String, of client: String? = nil) -> String {
        "\(session(identifier))/tasks\(query(client))"
    }

    /// The failed tasks of a session.
    package static func failedTasks(
        ofSession identifier: String,
        of client: String? = nil
    ) -> String {
        let query = query(client)
        return "\(session(identifier))/tasks\(query)\(query.isEmpty ? "?" : "&")state=failed"
    }

    /// Names of clients need no escapes.
    private static func query(_ client: String?) -> String { client.map { "?client=\($0)" } ?? "" }

    /// A client.
    package static func client(_ name: String) -> String { "/v1/clients/\(name)" }

    /// A task.
    package static func task(_ id: some CustomStringConvertible) -> String { "/v1/tasks/\(id)" }

    /// The bytes of a completed task.
    package static func content(of id: some CustomStringConvertible) -> String {
        "\(task(id))/content"
    }

    /// A credential, whose name needs no escapes.
    package static func credential(_ name: String) -> String { "/v1/credentials/\(name)" }

    /// A subscription.
    package static func subscription(_ id: some CustomStringConvertible) -> String {
        "/v1/subscriptions/\(id)"
    }

    /// A logged delivery.
    package static func delivery(_ id: some CustomStringConvertible) -> String {
        "/v1/deliveries/\(id)"
    }
}
