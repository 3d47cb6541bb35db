public import TransferWire

/// The calls that belong to no session of this process.
extension TransferService {
    /// Returns a session and the progress of its generation.
    public func session(_ identifier: String) async throws(TransferError) -> SessionDocument {
        try await get(ServiceRequest("GET", APIPath.session(identifier)).ofClient())
    }

    /// Waits until nothing of a session is outstanding, and returns it.
    ///
    /// Once the service has answered, it is asked again after any outage, however long.
    public func finishedSession(
        _ identifier: String
    ) async throws(TransferError) -> SessionDocument {
        let request = ServiceRequest("GET", APIPath.session(identifier)).ofClient()
            .adding("Prefer", "wait=\(Self.waitSeconds)")
        var hasAnswered = false
        var shortTurns = 0
        while true {
            let start = ContinuousClock.now
            var asked: Duration?
            do throws(TransferError) {
                let session: SessionDocument = try await get(request)
                if session.outstanding == 0 { return session }
                hasAnswered = true
            } catch {
                guard hasAnswered, RetryPolicy.isCurable(error, isRepeatable: true) else {
                    throw error
                }
                asked = error.retryAfter
            }
            // A service that does not wait, or is not there, is not asked all the time.
            let isShort = ContinuousClock.now - start < Self.turnMin
            shortTurns = isShort ? min(shortTurns + 1, Self.shortTurnsMax) : 0
            guard isShort || asked != nil else { continue }
            try await Self.pause(
                retryPolicy.pause(
                    asked: asked,
                    attempts: shortTurns,
                    fraction: .random(in: 0...1)
                )
            )
        }
    }

    /// Returns a task.
    public func task(_ identifier: String) async throws(TransferError) -> TaskDocument {
        try await get(ServiceRequest("GET", APIPath.task(identifier)))
    }

    /// Returns a task as it is after a verb: `resume`, `suspend`, `cancel` or `retry`.
    ///
    /// - Throws: ``TransferError``, for a running request that must not be sent twice with the code
    ///   `request_in_flight`.
    public func control(
        _ verb: String,
        task identifier: String
    ) async throws(TransferError) -> TaskDocument {
        try await get(
            ServiceRequest("POST", "\(APIPath.task(identifier))/\(verb)").repeatable()
        )
    }

    /// Starts a verb for the tasks of a session that are in certain states, and returns how far it
    /// is.
    public func control(
        _ request: BulkOperationRequest,
        tasksOfSession identifier: String
    ) async throws(TransferError) -> BulkOperationDocument {
        try await get(
            ServiceRequest(
                "POST",
                "\(APIPath.session(identifier))/bulk-operations",
                json: request
            ).ofClient()
        )
    }

    /// Returns how far a verb for many tasks is.
    public func bulkOperation(
        _ identifier: String
    ) async throws(TransferError) -> BulkOperationDocument {
        try await get(ServiceRequest("GET", APIPath.bulkOperation(identifier)))
    }

    /// Returns the newest attempts of a task that have ended, in the order in which they began.
    public func attempts(
        ofTask identifier: String
    ) async throws(TransferError) -> [AttemptDocument] {
        let list: AttemptList = try await get(
            ServiceRequest("GET", "\(APIPath.task(identifier))/attempts")
        )
        return list.items
    }

    /// Returns the timings and counts of a task.
    public func metrics(
        ofTask identifier: String
    ) async throws(TransferError) -> TaskMetricsDocument {
        try await get(ServiceRequest("GET", "\(APIPath.task(identifier))/metrics"))
    }

    /// Returns the bytes of a completed task.
    public func content(ofTask identifier: String) -> TransferBytes {
        TransferBytes(service: self, taskID: identifier)
    }

    /// Returns a session, which is created if it is not there.
    @discardableResult
    public func makeSession(
        _ identifier: String,
        _ request: SessionRequest = SessionRequest()
    ) async throws(TransferError) -> SessionDocument {
        try await get(
            ServiceRequest("PUT", APIPath.session(identifier), json: request).ofClient()
        )
    }

    /// Submits tasks that this process does not follow, with one request: either all of them are
    /// accepted or none.
    ///
    /// A task that is to be followed, or whose file is on this machine, is one of a
    /// ``TransferSession``.
    ///
    /// - Parameters:
    ///   - tasks: 1 to `SubmitRequest.tasksMax` tasks, with at most `JSONText.valuesMax` values in
    ///     the JSON of each and `JSONText.batchValuesMax` together.
    ///   - identifier: the session, which has to be there.
    /// - Returns: a receipt for each task, in the same order.
    /// - Throws: ``TransferError``, whose ``TransferError/faults`` point into the array.
    @discardableResult
    public func submit(
        _ tasks: [TaskRequest],
        toSession identifier: String
    ) async throws(TransferError) -> [TaskReceipt] {
        let receipt: BatchReceipt = try await get(
            ServiceRequest("POST", APIPath.tasks(ofSession: identifier), json: tasks)
                .ofClient().withIdempotencyKey()
        )
        return receipt.items
    }

    /// Cancels what is outstanding of a session, and ends it.
    ///
    /// Another session that takes its name meanwhile is left alone.
    public func invalidateSession(_ identifier: String) async throws(TransferError) {
        try await end(identifier, with: ServiceRequest("DELETE", APIPath.session(identifier)))
    }

    /// Ends a session.
    ///
    /// The name is free as soon as the session has ended, which may be by a request whose response
    /// is lost. So each request has the tag of the session that is meant.
    ///
    /// - Parameters:
    ///   - identifier: the name of the session.
    ///   - id: which session of that name is meant; nil for the one that has it now.
    ///   - request: what ends it.
    /// - Throws: ``TransferError``, with the code `unknown_session` when there was none, and
    ///   `precondition_failed` when others change it during each of the attempts that the retry
    ///   policy allows.
    func end(
        _ identifier: String,
        id: String? = nil,
        with request: ServiceRequest
    ) async throws(TransferError) {
        let request = request.repeatable().ofClient()
        var meant = id
        var attempts = 0
        while true {
            attempts += 1
            do throws(TransferError) {
                guard let found = try await tag(ofSession: identifier) else {
                    _ = try await call(request)
                    return
                }
                guard meant ?? found.id == found.id else { return }
                meant = found.id
                _ = try await call(request.adding("If-Match", found.tag))
                return
            } catch
                where error.problem?.code == .unknownSession
                && (meant != nil || error.followsLostResponse)
            {
                return
            } catch  where error.problem?.code == .preconditionFailed {
                // It was changed since it was read, or has ended and another one has its name.
                guard attempts < retryPolicy.attemptsMax else { throw error }
            }
        }
    }

    /// Returns which session has a name, and its tag; nil for a key that may not read it, though it
    /// may end it.
    private func tag(
        ofSession identifier: String
    ) async throws(TransferError) -> (id: String, tag: String)? {
        let response: ServiceResponse
        do throws(TransferError) {
            response = try await call(
                ServiceRequest("GET", APIPath.session(identifier)).ofClient()
            )
        } catch  where error.problem?.code == .insufficientScope {
            return nil
        }
        guard let tag = response.header("ETag") else {
            throw TransferError(.unexpectedResponse, "The response has no ETag.")
        }
        let session: SessionDocument = try response.document()
        return (session.id, tag)
    }

    /// Returns the tenant of the key, with its limits and what it has of them.
    public func tenant() async throws(TransferError) -> TenantDocument {
        try await get(ServiceRequest("GET", "/v1/tenant"))
    }

    /// The hooks for tests, which only keys of a tenant for tests may use.
    public var testHooks: TestHooks { TestHooks(service: self) }

    /// Returns the summary of the service for monitors, also one whose status is `fail`.
    public func health() async throws(TransferError) -> HealthDocument {
        var request = ServiceRequest("GET", "/health")
        request.statusOfDocument = 503
        return try await get(request)
    }

    /// Returns a host with its last decisions, such as `files.example:443`.
    public func host(_ name: String) async throws(TransferError) -> HostDocument {
        try await get(
            ServiceRequest("GET", "/v1/hosts/\(PercentEncoding.encodeSegment(name))")
        )
    }

    /// Creates a subscription; its secret is shown only here.
    public func subscribe(
        _ request: SubscriptionRequest
    ) async throws(TransferError) -> SubscriptionDocument {
        try await get(
            ServiceRequest("POST", "/v1/subscriptions", json: request).withIdempotencyKey()
        )
    }

    /// Changes a subscription; what is not named stays as it is, and null clears it.
    @discardableResult
    public func change(
        _ patch: SubscriptionPatchRequest,
        ofSubscription identifier: String
    ) async throws(TransferError) -> SubscriptionDocument {
        try await get(
            ServiceRequest("PATCH", APIPath.subscription(identifier), json: patch).repeatable()
        )
    }

    /// Deletes a subscription.
    public func unsubscribe(_ identifier: String) async throws(TransferError) {
        do throws(TransferError) {
            _ = try await call(ServiceRequest("DELETE", APIPath.subscription(identifier)))
        } catch  where error.problem?.code == .unknownSubscription && error.followsLostResponse {
            // An earlier attempt of the same call has deleted it.
            return
        }
    }

    /// Sends a message again that was not accepted at the first attempt.
    ///
    /// - Returns: the message; its attempts tell later what became of it.
    public func replay(delivery identifier: String) async throws(TransferError) -> DeliveryDocument
    {
        // Not repeated after a lost response: each call sends the message once more.
        try await get(ServiceRequest("POST", "\(APIPath.delivery(identifier))/replay"))
    }

    /// Acknowledges `session.events_finished` after the answer ``WebhookAnswer/later``.
    public func acknowledge(
        _ acknowledgement: WebhookAcknowledgement
    ) async throws(TransferError) {
        var request = try ServiceRequest(
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
    /// The time below which a wait was none.
    private static let turnMin: Duration = .seconds(1)
    /// The number of short waits after which the pauses grow no more: 4 seconds by default.
    private static let shortTurnsMax = 5
}

/// Lists, a page at a time: each call returns the page behind the `nextCursor` of the one before.
extension TransferService {
    /// The most items of a page.
    private static let pageItemsMax = 200

    /// Returns a page of a session's tasks, in the order of submission: those in `states`, or all
    /// of them.
    public func tasks(
        ofSession identifier: String,
        states: [String] = [],
        after cursor: String? = nil
    ) async throws(TransferError) -> Page<TaskDocument> {
        let state = states.isEmpty ? [] : ["state=\(states.joined(separator: ","))"]
        let path = APIPath.tasks(ofSession: identifier)
        return try await get(page(of: path, state, after: cursor).ofClient())
    }

    /// Returns a page of the sessions of all clients, or of the client that is named.
    public func sessions(after cursor: String? = nil) async throws(TransferError)
        -> Page<SessionDocument>
    {
        try await get(page(of: "/v1/sessions", after: cursor).ofClient())
    }

    /// Returns a page of the hosts about which there was a decision, without their decisions.
    public func hosts(after cursor: String? = nil) async throws(TransferError)
        -> Page<HostDocument>
    {
        try await get(page(of: "/v1/hosts", after: cursor))
    }

    /// Returns a page of the subscriptions.
    public func subscriptions(after cursor: String? = nil) async throws(TransferError)
        -> Page<SubscriptionDocument>
    {
        try await get(page(of: "/v1/subscriptions", after: cursor))
    }

    /// Returns a page of the messages to a subscription that were not accepted at the first
    /// attempt, newest first: those in `state`, or all of them.
    public func deliveries(
        toSubscription identifier: String,
        state: String? = nil,
        after cursor: String? = nil
    ) async throws(TransferError) -> Page<DeliveryDocument> {
        let state = state.map { ["state=\(PercentEncoding.encodeSegment($0))"] } ?? []
        let path = "\(APIPath.subscription(identifier))/deliveries"
        return try await get(page(of: path, state, after: cursor))
    }

    /// Returns a page of the events of a session: those of `types`, or all; the next one is behind
    /// its `next`, and is empty as long as nothing more has happened.
    public func events(
        ofSession identifier: String,
        after cursor: EventCursor? = nil,
        types: [String] = []
    ) async throws(TransferError) -> EventPage {
        let place = cursor.map { ["after=\($0)"] } ?? []
        let filter = TransferEvents.filter(of: types) + place
        let path = "\(APIPath.session(identifier))/events"
        return try await get(page(of: path, filter, after: nil).ofClient())
    }

    /// Returns a page of the events of all sessions and clients of the tenant, and its own, in one
    /// order: those of `types`, or all; the next one is behind its `next`.
    public func events(
        after cursor: EventCursor? = nil,
        types: [String] = []
    ) async throws(TransferError) -> EventPage {
        let place = cursor.map { ["after=\($0)"] } ?? []
        let filter = TransferEvents.filter(of: types) + place
        return try await get(page(of: "/v1/events", filter, after: nil))
    }

    private func page(
        of path: String,
        _ filter: [String] = [],
        after cursor: String?
    ) -> ServiceRequest {
        let place = cursor.map { ["cursor=\(PercentEncoding.encodeSegment($0))"] } ?? []
        let query = ["limit=\(Self.pageItemsMax)"] + filter + place
        return ServiceRequest("GET", "\(path)?\(query.joined(separator: "&"))")
    }
}
