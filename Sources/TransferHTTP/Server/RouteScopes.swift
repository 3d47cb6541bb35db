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
        "POST /v1/clients/{client}/launch": .control,
        "POST /v1/clients/{client}/background": .control,
        "POST /v1/clients/{client}/force-quit": .control,
        "GET /v1/sessions": .read,
        "GET /v1/sessions/{identifier}": .read,
        "PUT /v1/sessions/{identifier}": .submit,
        "PATCH /v1/sessions/{identifier}": .control,
        "DELETE /v1/sessions/{identifier}": .control,
        "POST /v1/sessions/{identifier}/invalidate": .control,
        "POST /v1/sessions/{identifier}/finish": .control,
        "POST /v1/sessions/{identifier}/reconnect": .control,
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

    /// Returns the scope that a route needs; nil for what needs no key.
    ///
    /// A route that is missing in the table is open to nobody but administrators.
    static func scope(_ method: String, _ path: String) -> KeyScope? {
        if OperationRoutes.paths.contains(path) { return nil }
        return table["\(method) \(path)"] ?? .admin
    }
}
