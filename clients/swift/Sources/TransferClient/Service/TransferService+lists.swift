public import TransferWire

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
        let path = "\(APIPath.session(identifier))/tasks"
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

    /// Returns a page of the events of a session; the next one is behind its `next`, and is empty
    /// as long as nothing more has happened.
    public func events(
        ofSession identifier: String,
        after cursor: EventCursor? = nil
    ) async throws(TransferError) -> EventPage {
        let place = cursor.map { ["after=\($0)"] } ?? []
        let path = "\(APIPath.session(identifier))/events"
        return try await get(page(of: path, place, after: nil).ofClient())
    }

    /// Returns a page of the events of all sessions and clients of the tenant, and its own, in one
    /// order; the next one is behind its `next`.
    public func events(after cursor: EventCursor? = nil) async throws(TransferError) -> EventPage {
        let place = cursor.map { ["after=\($0)"] } ?? []
        return try await get(page(of: "/v1/events", place, after: nil))
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
