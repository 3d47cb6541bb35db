import TransferModel

/// The scope that a key needs for each route.
enum RouteScopes {
    /// The scope of a route, by its method and path; a `HEAD` needs that of the `GET`.
    static let table: [String: KeyScope] = [
        "GET /v1/hosts": .read,
        "GET /v1/hosts/{host}": .read,
        "GET /v1/clients": .read,
        "GET /v1/clients/{client}": .read,
        "PUT /v1/clients/{client}": .submit,
        "DELETE /v1/clients/{client}": .control,
        "POST /v1/clients/{client}/launch": .control,
        "POST /v1/clients/{client}/background": .control,
        "POST /v1/clients/{client}/suspend": .control,
        "POST /v1/clients/{client}/terminate": .control,
        "POST /v1/clients/{client}/force-quit": .control,
        "GET /v1/clients/{client}/events": .read,
        "GET /v1/clients/{client}/assertion-leaks": .read,
        "GET /v1/assertions": .read,
        "POST /v1/assertions": .control,
        "GET /v1/assertions/{id}": .read,
        "DELETE /v1/assertions/{id}": .control,
        "GET /v1/background-tasks/handlers": .read,
        "GET /v1/background-tasks/handlers/{identifier}": .read,
        "PUT /v1/background-tasks/handlers/{identifier}": .control,
        "DELETE /v1/background-tasks/handlers/{identifier}": .control,
        "GET /v1/background-tasks/requests": .read,
        "POST /v1/background-tasks/requests": .submit,
        "DELETE /v1/background-tasks/requests": .control,
        "GET /v1/background-tasks/requests/{identifier}": .read,
        "DELETE /v1/background-tasks/requests/{identifier}": .control,
        "GET /v1/background-tasks/runs": .read,
        "GET /v1/background-tasks/runs/{id}": .read,
        "POST /v1/background-tasks/runs/{id}/accept": .control,
        "POST /v1/background-tasks/runs/{id}/complete": .control,
        "POST /v1/background-tasks/runs/{id}/extend": .control,
        "POST /v1/background-tasks/runs/{id}/progress": .control,
        "POST /v1/background-tasks/runs/{id}/transfers": .control,
        "GET /v1/tenant/background-settings": .read,
        "PATCH /v1/tenant/background-settings": .control,
        "GET /v1/sessions": .read,
        "GET /v1/sessions/{identifier}": .read,
        "PUT /v1/sessions/{identifier}": .submit,
        "PATCH /v1/sessions/{identifier}": .control,
        "DELETE /v1/sessions/{identifier}": .control,
        "POST /v1/sessions/{identifier}/invalidate": .control,
        "POST /v1/sessions/{identifier}/finish": .control,
        "POST /v1/sessions/{identifier}/reconnect": reconnection,
        "PATCH /v1/leases/{id}": .control,
        "DELETE /v1/leases/{id}": .control,
        "POST /v1/sessions/{identifier}/bulk-operations": .control,
        "GET /v1/sessions/{identifier}/bulk-operations": .read,
        "GET /v1/bulk-operations/{id}": .read,
        "DELETE /v1/bulk-operations/{id}": .control,
        "GET /v1/sessions/{identifier}/tasks": .read,
        "POST /v1/sessions/{identifier}/tasks": .submit,
        "GET /v1/sessions/{identifier}/events": .read,
        "POST /v1/sessions/{identifier}/events/ack": .webhooks,
        "GET /v1/events": .read,
        "GET /v1/tasks": .read,
        "GET /v1/tasks/{id}": .read,
        "PATCH /v1/tasks/{id}": .control,
        "DELETE /v1/tasks/{id}": .control,
        "POST /v1/tasks/{id}/cancel": .control,
        "POST /v1/tasks/{id}/retry": .control,
        "POST /v1/tasks/{id}/suspend": .control,
        "POST /v1/tasks/{id}/resume": .control,
        "POST /v1/tasks/{id}/begin": .control,
        "POST /v1/tasks/{id}/credential": .control,
        "GET /v1/tasks/{id}/attempts": .read,
        "GET /v1/tasks/{id}/metrics": .read,
        "GET /v1/tasks/{id}/body": .submit,
        "PUT /v1/tasks/{id}/body": .submit,
        "GET /v1/tasks/{id}/content": .read,
        "GET /v1/tenant": .read,
        "POST /v1/test-hooks/tasks/{id}/end-wait": .control,
        "POST /v1/test-hooks/tasks/{id}/fail-next-attempt": .control,
        "POST /v1/test-hooks/tasks/{id}/expire": .control,
        "POST /v1/tenant/pause": .admin,
        "POST /v1/tenant/resume": .admin,
        "GET /v1/audit": .admin,
        "GET /v1/tenant/certificate-authorities": .read,
        "PUT /v1/tenant/certificate-authorities": .control,
        "DELETE /v1/tenant/certificate-authorities": .control,
        "GET /v1/credentials": .read,
        "GET /v1/credentials/{name}": .read,
        "PUT /v1/credentials/{name}": .control,
        "DELETE /v1/credentials/{name}": .control,
        "GET /v1/keys": .admin,
        "POST /v1/keys": .admin,
        "DELETE /v1/keys/{id}": .admin,
        "GET /v1/subscriptions": .read,
        "POST /v1/subscriptions": .webhooks,
        "GET /v1/subscriptions/{id}": .read,
        "PATCH /v1/subscriptions/{id}": .webhooks,
        "DELETE /v1/subscriptions/{id}": .webhooks,
        "POST /v1/subscriptions/{id}/rotate-secret": .webhooks,
        "POST /v1/subscriptions/{id}/test": .webhooks,
        "GET /v1/subscriptions/{id}/deliveries": .read,
        "POST /v1/subscriptions/{id}/recover": .webhooks,
        "GET /v1/deliveries/{id}": .read,
        "POST /v1/deliveries/{id}/replay": .webhooks,
    ]

    /// The scope that a reconnection needs, also one that a route for something else makes.
    static let reconnection: KeyScope = .control

    /// The scope that a change of what exists needs, also by a route that creates.
    static let change: KeyScope = .control

    /// The scope that is needed to send what the tenant keeps to an origin, beside that of the
    /// route: the origin, which the caller chooses, reads it.
    static let sendingFiles: KeyScope = .read

    /// The scope that is needed to name another origin for a task, beside that of the route: the
    /// origin gets the headers of the session and its credential, as that of a new task does.
    static let namingOrigins: KeyScope = .submit

    /// Returns the scope that a route needs; nil for what needs no key.
    ///
    /// A route that is missing in the table is open to nobody but administrators.
    static func scope(_ method: String, _ path: String) -> KeyScope? {
        if ProbeRoutes.paths.contains(path) || PageRoutes.paths.contains(path) { return nil }
        return table["\(method) \(path)"] ?? .admin
    }
}
