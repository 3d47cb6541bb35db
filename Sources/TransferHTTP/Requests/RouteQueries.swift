/// The routes that have parameters in the query; the query of any other must be empty.
///
/// What the parameters of a route are, its handler says: ``QueryParameters``.
enum RouteQueries {
    /// The routes, by method and path; a `HEAD` has the parameters of the `GET`.
    static let routes: Set<String> = [
        "GET /v1/hosts",
        "GET /v1/clients",
        "GET /v1/clients/{client}/events",
        "GET /v1/assertions",
        "GET /v1/background-tasks/handlers",
        "GET /v1/background-tasks/handlers/{identifier}",
        "PUT /v1/background-tasks/handlers/{identifier}",
        "DELETE /v1/background-tasks/handlers/{identifier}",
        "GET /v1/background-tasks/requests",
        "DELETE /v1/background-tasks/requests",
        "GET /v1/background-tasks/requests/{identifier}",
        "DELETE /v1/background-tasks/requests/{identifier}",
        "GET /v1/background-tasks/runs",
        "GET /v1/sessions",
        "GET /v1/sessions/{identifier}",
        "PUT /v1/sessions/{identifier}",
        "PATCH /v1/sessions/{identifier}",
        "DELETE /v1/sessions/{identifier}",
        "POST /v1/sessions/{identifier}/invalidate",
        "POST /v1/sessions/{identifier}/finish",
        "POST /v1/sessions/{identifier}/reconnect",
        "POST /v1/sessions/{identifier}/bulk-operations",
        "GET /v1/sessions/{identifier}/bulk-operations",
        "GET /v1/sessions/{identifier}/tasks",
        "POST /v1/sessions/{identifier}/tasks",
        "GET /v1/sessions/{identifier}/events",
        "POST /v1/sessions/{identifier}/events/ack",
        "GET /v1/events",
        "GET /v1/tasks",
        "GET /v1/tasks/{id}",
        "GET /v1/credentials",
        "GET /v1/audit",
        "GET /v1/keys",
        "GET /v1/subscriptions",
        "GET /v1/subscriptions/{id}/deliveries",
    ]
}
