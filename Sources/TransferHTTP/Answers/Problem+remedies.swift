import HTTPTypes
import TransferModel
import TransferWire

/// What a client can do about a problem that has nothing more particular to say.
extension Problem {
    /// The detail that every problem with this code has by default; nil for a code whose title says
    /// all, or whose problems always say more.
    var remedy: String? {
        switch code {
        case .methodNotAllowed: headers[.allow].map { "The methods of this path are \($0)." }
        case .preconditionFailed:
            """
            Nothing was changed. `If-Match` needs the current `ETag`, which GET returns; \
            `If-None-Match: *` only creates.
            """
        case .idempotencyKeyReused:
            """
            Nothing was done. Repeat the first request with this key unchanged, or send this one \
            with a new key.
            """
        case .assertionsHeld:
            """
            The client is not suspended before its assertions have ended: GET /v1/assertions lists \
            them, DELETE /v1/assertions/{id} ends one.
            """
        case .identifierTaken:
            "An assertion of another client or name has this `id`; send another UUID, or none."
        case .noCertificateAuthorities:
            "The tenant has none of its own; PUT /v1/tenant/certificate-authorities sets them."
        case .internalError:
            """
            The service's log has the cause under this `request_id`, unless very many requests fail.
            """
        default: remedyForUnknown
        }
    }

    /// Where a client finds what there is instead of the unknown.
    private var remedyForUnknown: String? {
        switch code {
        case .unknownRoute: "There is nothing at this path; `openapi.yaml` lists the paths."
        case .unknownSession:
            """
            There is no such session; PUT /v1/sessions/{identifier} creates it. The query names \
            its client with `client`, unless that is `default`.
            """
        case .unknownLease:
            """
            The lease holds no task, or none any more; POST /v1/sessions/{identifier}/reconnect \
            begins another.
            """
        case .unknownTask: "There is no such task; GET /v1/tasks lists the tasks of the tenant."
        case .unknownBulkOperation:
            """
            There is no such operation; POST /v1/sessions/{identifier}/bulk-operations begins one.
            """
        case .unknownAssertion:
            "There is no such assertion; GET /v1/assertions lists those that a client holds."
        case .unknownHandler:
            """
            The client has no such handler; PUT /v1/background-tasks/handlers/{identifier} \
            registers it.
            """
        case .unknownBackgroundTaskRequest:
            """
            No such request is pending: it was launched or cancelled, or never submitted. \
            GET /v1/background-tasks/requests lists those of a client.
            """
        case .unknownRun:
            "There is no such run; GET /v1/background-tasks/runs lists those of a client."
        case .unknownSubscription:
            "There is no such subscription; GET /v1/subscriptions lists them."
        case .unknownDelivery:
            "There is no such delivery; GET /v1/subscriptions/{id}/deliveries lists them."
        case .unknownCredential:
            "There is no such credential; PUT /v1/credentials/{name} creates it."
        case .unknownKey: "There is no such API key; GET /v1/keys lists them."
        case .unknownHost: "Nothing is known of that host; GET /v1/hosts lists the known ones."
        default: nil
        }
    }
}

extension Quota.Limit {
    /// What counts, and what a client can do about it.
    var remedy: String {
        switch self {
        case .outstandingTasks:
            """
            Tasks that have ended do not count; POST /v1/sessions/{identifier}/bulk-operations \
            cancels those of a session.
            """
        case .storedBytes:
            """
            Results, bodies for uploads, and parts that ended downloads have left count; \
            DELETE /v1/tasks/{id} removes those of an ended task.
            """
        case .sessions:
            """
            Ended sessions do not count: DELETE /v1/sessions/{identifier} ends one, \
            POST /v1/sessions/{identifier}/finish with its last task.
            """
        case .clients: "DELETE /v1/clients/{client} removes one, with all that it owns."
        case .subscriptions: "DELETE /v1/subscriptions/{id} deletes one."
        case .credentials: "DELETE /v1/credentials/{name} deletes one."
        case .keys: "Keys that ended lately count too; DELETE /v1/keys/{id} revokes one."
        case .bulkOperations: "Those that ended within a day count too."
        case .assertions: "It holds for one client; DELETE /v1/assertions/{id} ends one."
        case .handlers:
            """
            It holds for one client; DELETE /v1/background-tasks/handlers/{identifier} removes one.
            """
        case .runTransfers: "It holds for one run, and none of the tasks was linked to it."
        case .pauses: "POST /v1/tenant/resume ends one."
        }
    }
}
