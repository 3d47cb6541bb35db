public import TransferWire

/// The calls that belong to no session of this process.
extension TransferService {
    /// Returns a session and the progress of its generation.
    public func session(_ identifier: String) async throws(TransferError) -> SessionDocument {
        try await get(ServiceRequest("GET", APIPath.session(identifier)).ofClient())
    }

    /// Waits until nothing of a session is outstanding, and returns it.
    public func finishedSession(
        _ identifier: String
    ) async throws(TransferError) -> SessionDocument {
        while true {
            let request = ServiceRequest("GET", APIPath.session(identifier)).ofClient()
                .adding("Prefer", "wait=\(Self.waitSeconds)")
            let session: SessionDocument = try await get(request)
            if session.outstanding == 0 { return session }
        }
    }

    /// Returns a page of a session's tasks, in the order of submission: those in `states`, or all
    /// of them, behind the `nextCursor` of the page before.
    public func tasks(
        ofSession identifier: String,
        states: [String] = [],
        after cursor: String? = nil
    ) async throws(TransferError) -> Page<TaskDocument> {
        var query = ["limit=200"]
        if !states.isEmpty { query.append("state=\(states.joined(separator: ","))") }
        if let cursor { query.append("cursor=\(PercentEncoding.encodeSegment(cursor))") }
        let path = "\(APIPath.session(identifier))/tasks?\(query.joined(separator: "&"))"
        return try await get(ServiceRequest("GET", path).ofClient())
    }

    /// Returns a task.
    public func task(_ identifier: String) async throws(TransferError) -> TaskDocument {
        try await get(ServiceRequest("GET", APIPath.task(identifier)))
    }

    /// Returns the bytes of a completed task.
    public func content(ofTask identifier: String) -> TransferBytes {
        TransferBytes(service: self, path: APIPath.content(of: identifier))
    }

    /// Creates a subscription; its secret is shown only here.
    public func subscribe(
        _ request: SubscriptionRequest
    ) async throws(TransferError) -> SubscriptionDocument {
        try await get(
            ServiceRequest("POST", "/v1/subscriptions", json: request).withIdempotencyKey()
        )
    }

    /// Deletes a subscription.
    public func unsubscribe(_ identifier: String) async throws(TransferError) {
        _ = try await call(ServiceRequest("DELETE", APIPath.subscription(identifier)))
    }

    /// Acknowledges `session.events_finished` after the answer ``WebhookAnswer/later``.
    public func acknowledge(
        _ acknowledgement: WebhookAcknowledgement
    ) async throws(TransferError) {
        var request = ServiceRequest(
            "POST",
            acknowledgement.path,
            json: AckRequest(ackToken: acknowledgement.token)
        )
        // The path names the client of the event.
        request.isRepeatable = true
        do throws(TransferError) {
            _ = try await call(request)
        } catch  where error.problem?.code == .staleAckToken {
            // An earlier attempt of the same call has arrived, or the time is over, after which the
            // message comes again.
            return
        }
    }

    /// The time of one long poll, less than that of a request.
    private static let waitSeconds = 30
}
