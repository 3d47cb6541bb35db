/// The paths of resources, for `Location` headers and links.
public enum APIPath {
    /// Returns the path of a session, by the identifier that its client gave it; a nil `client` is
    /// the client that every tenant has.
    public static func session(_ identifier: String, of client: String? = nil) -> String {
        "/v1/sessions/\(PercentEncoding.encodeSegment(identifier))\(query(client))"
    }

    /// Returns the path of the tasks of a session.
    public static func tasks(ofSession identifier: String, of client: String? = nil) -> String {
        "\(session(identifier))/tasks\(query(client))"
    }

    /// Returns the path of the failed tasks of a session.
    public static func failedTasks(
        ofSession identifier: String,
        of client: String? = nil
    ) -> String {
        let query = query(client)
        return "\(session(identifier))/tasks\(query)\(query.isEmpty ? "?" : "&")state=failed"
    }

    /// Returns the query that names a client, whose name needs no escapes.
    private static func query(_ client: String?) -> String { client.map { "?client=\($0)" } ?? "" }

    /// Returns the path of a client.
    public static func client(_ name: String) -> String { "/v1/clients/\(name)" }

    /// Returns the path of an assertion.
    public static func assertion(_ id: some CustomStringConvertible) -> String {
        "/v1/assertions/\(id)"
    }

    /// Returns the path of a registered handler, whose identifier needs no escapes.
    public static func handler(
        _ identifier: some CustomStringConvertible,
        of client: String? = nil
    ) -> String {
        "/v1/background-tasks/handlers/\(identifier)\(query(client))"
    }

    /// Returns the path of a pending request for a background task.
    public static func taskRequest(
        _ identifier: some CustomStringConvertible,
        of client: String? = nil
    ) -> String {
        "/v1/background-tasks/requests/\(identifier)\(query(client))"
    }

    /// Returns the path of a task.
    public static func task(_ id: some CustomStringConvertible) -> String { "/v1/tasks/\(id)" }

    /// Returns the path of the bytes of a completed task.
    public static func content(of id: some CustomStringConvertible) -> String {
        "\(task(id))/content"
    }

    /// Returns the path of a credential, whose name needs no escapes.
    public static func credential(_ name: String) -> String { "/v1/credentials/\(name)" }

    /// Returns the path of a subscription.
    public static func subscription(_ id: some CustomStringConvertible) -> String {
        "/v1/subscriptions/\(id)"
    }

    /// Returns the path of a bulk operation.
    public static func bulkOperation(_ id: some CustomStringConvertible) -> String {
        "/v1/bulk-operations/\(id)"
    }

    /// Returns the path of a logged delivery.
    public static func delivery(_ id: some CustomStringConvertible) -> String {
        "/v1/deliveries/\(id)"
    }
}
