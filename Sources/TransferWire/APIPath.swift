/// Where things are, for `Location` headers and links.
package enum APIPath {
    /// A session, by the identifier its client gave it.
    package static func session(_ identifier: String) -> String {
        "/v1/sessions/\(PercentEncoding.encodeSegment(identifier))"
    }

    /// The tasks of a session.
    package static func tasks(ofSession identifier: String) -> String {
        "\(session(identifier))/tasks"
    }

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
