import Foundation
import Hummingbird
import TransferModel
import TransferStore
import TransferWebhooks
import TransferWire

/// The routes of `/v1/sessions/{identifier}/events`, of `/v1/clients/{client}/events`, and of
/// `/v1/events` for all events of the tenant.
struct EventRoutes: Sendable {
    let stores: APIStores
    let poll: SharedPoll<EventLog.Source, EventPosition>
    let keys: KeyWatch
    let slots: ReaderSlots
    let bounds: EventReaderBounds
    let tell: @Sendable (Set<Signal>) -> Void
    /// The prefix of links; nil when the service does not know its own address.
    let linkBase: String?

    func add(to router: APIRouter) {
        router.get(
            "/v1/sessions/{identifier}/events",
            scope: .read,
            hasQuery: true
        ) { request, context in
            let query = try EventQuery(request, allowing: [QueryParameters.client])
            let address = try context.session(query.parameters)
            let session = try await stores.sessions.sessionOrEnded(
                tenant: address.tenant,
                client: address.client,
                identifier: address.identifier
            )
            guard let session else { throw try await stores.clients.noSession(at: address) }
            let log = EventLog.Source.log(session.id)
            return try await read(log, query, for: context.requireCaller(), request, context)
        }
        router.post(
            "/v1/sessions/{identifier}/events/ack",
            scope: .webhooks,
            hasQuery: true
        ) { request, context in
            let session = try context.session(request)
            return try await acknowledge(request.jsonBody(), in: session)
        }
        router.get(
            "/v1/clients/{client}/events",
            scope: .read,
            hasQuery: true
        ) { request, context in
            let query = try EventQuery(request)
            let caller = try context.requireCaller()
            let client = try await stores.clients.client(
                tenant: caller.tenant,
                id: context.clientID()
            )
            guard let client else { throw Problem.unknownClient }
            return try await read(.log(client.log), query, for: caller, request, context)
        }
        router.get("/v1/events", scope: .read, hasQuery: true) { request, context in
            let query = try EventQuery(request, allowing: [EventQuery.prefix])
            let caller = try context.requireCaller()
            return try await read(.feed(caller.tenant), query, for: caller, request, context)
        }
    }

    /// Answers with a page, or with a stream that continues from the client's position.
    private func read(
        _ source: EventLog.Source,
        _ query: EventQuery,
        for caller: Caller,
        _ request: Request,
        _ context: APIContext
    ) async throws -> Response {
        let log = EventLog(source: source, stores: stores)
        let begin = try await log.begin(at: query.after)
        switch query.form {
        case .page(let preference):
            let answer = try await page(
                of: log,
                query,
                after: begin,
                waiting: preference,
                for: caller
            )
            return try answer.response(from: request, context: context)
        case .stream:
            // A gap in the kept events is answered as for a page, before the stream begins.
            let page = try await log.page(after: begin, limit: 1)
            // Who has all events of an ended session would connect again for as long as it is kept:
            // this status is what tells an EventSource not to (WHATWG HTML §9.2.3).
            if page.through == begin, try await log.isOver(after: begin) {
                return try Answer(status: .noContent).response(from: request, context: context)
            }
            let stream = EventStream(
                log: log,
                begin: begin,
                poll: poll,
                query: query,
                bounds: bounds,
                linkBase: linkBase,
                slot: try slots.take(for: caller.tenant),
                key: keys.hold(caller),
                share: RequestResources.current?.answer
            )
            return stream.response(to: request, on: context.channel)
        }
    }

    /// Returns the next events that the query asks for, or none when there are none within the wait
    /// time.
    ///
    /// - Throws: ``Problem/invalidKey`` when the key ends meanwhile.
    private func page(
        of log: EventLog,
        _ query: EventQuery,
        after begin: Int64,
        waiting preference: WaitPreference?,
        for caller: Caller
    ) async throws -> Answer {
        let resources = RequestResources.current
        let deadline = preference.map { ContinuousClock.now + .seconds($0.seconds) }
        var place: (slot: ReaderSlot, key: KeyHold)?
        var cursor = begin
        var hasNews = false
        var found: [PositionedEvent] = []
        var unreadable: [EventPlace] = []
        var mayHaveMore = false
        while true {
            try await resources?.beginPage()
            let page = try await log.page(after: cursor, limit: query.limit)
            found = page.events.filter { query.wants($0.event) }
            unreadable = page.unreadable.filter(query.wants)
            // A wake-up without an event means that no further event will come.
            if page.through == cursor, hasNews { break }
            cursor = page.through
            mayHaveMore = page.mayHaveMore
            guard found.isEmpty, unreadable.isEmpty, let deadline, deadline > .now else { break }
            resources?.answer.shrink(to: 0)
            resources?.pauseWork()
            // Stored events that the query does not ask for are skipped without waiting.
            if mayHaveMore { continue }
            let held = try place ?? (slots.take(for: caller.tenant), keys.hold(caller))
            place = held
            hasNews = await poll.hasEvents(
                of: log.source,
                after: cursor,
                within: deadline - .now,
                for: held.key
            )
            try held.key.check()
            guard hasNews else { break }
        }
        var answer = try await Answer.events(
            found,
            unreadable,
            next: EventCursor(log: log.source.id, sequence: cursor),
            mayHaveMore: mayHaveMore,
            linkBase: linkBase
        )
        resources?.answer.shrink(to: answer.body.count)
        answer.preferenceApplied = preference?.applied
        return answer
    }

    func acknowledge(_ body: [UInt8], in session: SessionAddress) async throws -> Answer {
        let request = try await decoded(AckRequest.self, from: body)
        if let token = AckToken(serialized: request.ackToken),
            try await stores.wakeUps.acknowledge(
                token,
                tenant: session.tenant,
                client: session.client,
                sessionIdentifier: session.identifier
            )
        {
            tell([.deliveries])
            return Answer(status: .noContent)
        }
        // The acknowledgement that is repeated after a lost answer may be the last of its session.
        let known = try await stores.sessions.sessionOrEnded(
            tenant: session.tenant,
            client: session.client,
            identifier: session.identifier
        )
        guard known != nil else { throw try await stores.clients.noSession(at: session) }
        throw Problem(.staleAckToken, "No message waits for this token, or no longer.")
    }
}

extension Answer {
    /// Returns a page of as many of `events` as fit; `next` is its position when all of them do,
    /// and `mayHaveMore` whether there may then be more.
    fileprivate static func events(
        _ events: [PositionedEvent],
        _ unreadable: [EventPlace],
        next: EventCursor,
        mayHaveMore: Bool,
        linkBase: String?
    ) async throws -> Answer {
        let make: @Sendable () throws -> [UInt8] = {
            var page = PageBytes()
            for entry in events {
                guard try page.append(EventMessage(entry.event, linkBase: linkBase)) else { break }
            }
            let isWhole = page.count == events.count
            let last = isWhole ? next.sequence : events[page.count - 1].position
            let cursor = EventCursor(log: next.log, sequence: last)
            let own = unreadable.filter { $0.position <= last }.map(\.id.text)
            let end = PageEnd(
                next: cursor.description,
                hasMore: mayHaveMore || !isWhole,
                unreadable: own.isEmpty ? nil : own
            )
            return try page.encoded(before: end)
        }
        let byteCount = events.reduce(0) {
            $0 + PageBytes.itemBytes + ($1.event.task?.clientString?.utf8.count ?? 0)
        }
        let isSmall = byteCount <= PageBytes.smallBytesMax
        let body = isSmall ? try make() : try await RequestResources.onJSONThreads(make)
        return Answer(status: .ok, body: body)
    }

    private struct PageEnd: Encodable {
        let next: String
        let hasMore: Bool
        let unreadable: [String]?

        private enum CodingKeys: String, CodingKey {
            case next, unreadable
            case hasMore = "has_more"
        }
    }
}
