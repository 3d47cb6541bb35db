import TransferWire

/// The events of a session, or of all sessions of the tenant, as they happen, in their order and
/// without gaps.
///
/// Each iterator is a stream of its own, which reconnects behind the last event when it breaks
/// off, for as long as that takes. It reads as fast as its events are used. That of a session ends
/// with it, also when its last event is not among the types wanted. An iterator throws
/// ``TransferError`` when the service refuses it: with the code `events_expired` when events were
/// removed before they were read, and `unknown_session` when there is no such session.
public struct TransferEvents: AsyncSequence, Sendable {
    /// The events.
    public typealias Element = TransferEvent
    /// The reason why no event follows.
    public typealias Failure = TransferError

    /// The longest pause before a reconnection.
    static let pauseMax: Duration = .seconds(30)
    /// The shortest pause that a service can ask for.
    static let pauseMin: Duration = .milliseconds(1)

    let service: TransferService
    let request: ServiceRequest
    /// Whether `session.invalidated` is the last event; without it, the service tells the end.
    let endsWithSession: Bool
    let start: @Sendable () async throws(TransferError) -> EventCursor?

    /// Reads the events of a session.
    ///
    /// - Parameters:
    ///   - service: the service.
    ///   - identifier: the identifier that the client gave the session.
    ///   - cursor: the place behind which to start; nil for the oldest event that is kept.
    ///   - types: the types wanted, such as `task.completed` or `task.*`; all of them by default.
    public init(
        service: TransferService,
        sessionIdentifier identifier: String,
        after cursor: EventCursor? = nil,
        types: [String] = []
    ) {
        self.init(service: service, sessionIdentifier: identifier, types: types) { cursor }
    }

    init(
        service: TransferService,
        sessionIdentifier identifier: String,
        types: [String] = [],
        start: @escaping @Sendable () async throws(TransferError) -> EventCursor?
    ) {
        self.service = service
        self.start = start
        endsWithSession = true
        request = Self.request("\(APIPath.session(identifier))/events", types).ofClient()
    }

    /// Reads the events of all sessions and clients of the tenant, and its own, in one order.
    ///
    /// - Parameters:
    ///   - service: the service.
    ///   - cursor: the place behind which to start, such as ``TransferEvent/cursor``; nil for the
    ///     oldest event that is kept.
    ///   - types: the types wanted, such as `task.completed` or `task.*`; all of them by default.
    public init(
        service: TransferService,
        after cursor: EventCursor? = nil,
        types: [String] = []
    ) {
        self.service = service
        start = { () async throws(TransferError) in cursor }
        endsWithSession = false
        request = Self.request("/v1/events", types)
    }

    private static func request(_ path: String, _ types: [String]) -> ServiceRequest {
        let query = filter(of: types).map { "?\($0)" }.joined()
        return ServiceRequest("GET", "\(path)\(query)").adding("Accept", "text/event-stream")
    }

    /// Returns the parameters of a query for events of `types`: none for all of them.
    static func filter(of types: [String]) -> [String] {
        guard !types.isEmpty else { return [] }
        let terms = types.map { PercentEncoding.encode($0, allowing: [UInt8(ascii: "*")]) }
        return ["types=\(terms.joined(separator: ","))"]
    }

    /// Starts a stream with the first call of `next`.
    public func makeAsyncIterator() -> Iterator { Iterator(events: self) }

    /// The reader of one stream.
    public struct Iterator: AsyncIteratorProtocol {
        /// The reason why no event follows.
        public typealias Failure = TransferError

        private let events: TransferEvents
        private var stream: OpenStream?
        private var ready: [TransferEvent] = []
        private var cursor: EventCursor?
        private var hasStarted = false
        /// Whether the service was at the address once.
        private var wasOpen = false
        private var isOver = false
        private var failures = 0
        private var pause: Duration = .seconds(1)

        fileprivate init(events: TransferEvents) { self.events = events }

        private struct OpenStream {
            var parts: any AsyncIteratorProtocol<[UInt8], any Error>
            var parser = ServerSentEventParser()
        }

        /// Returns the next event; nil after the last one of a session that has ended.
        ///
        /// - Throws: ``TransferError``, after which there are no more.
        public mutating func next() async throws(TransferError) -> TransferEvent? {
            while true {
                if !ready.isEmpty { return ready.removeFirst() }
                if isOver { return nil }
                do throws(TransferError) {
                    try await readMore()
                } catch {
                    stream = nil
                    guard error.code != .cancelled, isPassing(error) else {
                        isOver = true
                        throw error
                    }
                    try await pauseBeforeReconnecting(error)
                }
            }
        }

        /// Whether the stream can be opened again after an error.
        private func isPassing(_ error: TransferError) -> Bool {
            if RetryPolicy.isCurable(error, isRepeatable: true) { return true }
            // Where the service was, something else answers in its place for a while, such as a
            // proxy that has no way to it. A login that it asks for is not there later either.
            guard wasOpen, error.problem == nil, let status = error.status else { return false }
            return ![401, 403, 407].contains(status)
        }

        /// Reads what comes next, and opens the stream before that if it is not.
        private mutating func readMore() async throws(TransferError) {
            guard var open = try await opened() else {
                isOver = true
                return
            }
            let part: [UInt8]?
            do {
                part = try await open.parts.next()
            } catch {
                throw TransferError(reading: error)
            }
            guard let part else {
                // The service stops, or has nothing more to tell until something happens.
                throw TransferError(.unreachable, "The stream of events has ended.")
            }
            let blocks: [ServerSentEvent]
            do {
                blocks = try open.parser.read(part)
            } catch {
                throw TransferError(.unexpectedResponse, "An event is too long.")
            }
            stream = open
            for block in blocks { try take(block) }
        }

        private mutating func take(_ block: ServerSentEvent) throws(TransferError) {
            if let retry = block.retry {
                // A number that is no time would make of the pauses a loop without any.
                pause = Swift.max(.milliseconds(retry), TransferEvents.pauseMin)
            }
            if let data = block.data {
                let message: EventMessage
                do {
                    message = try WireDecoder.decode(
                        EventMessage.self,
                        fromAnswer: Array(data.utf8)
                    )
                } catch {
                    throw TransferError(.unexpectedResponse, "An event cannot be read.")
                }
                ready.append(TransferEvent(message, cursor: block.id.map { EventCursor($0) }))
                if events.endsWithSession, message.type == "session.invalidated" { isOver = true }
            }
            if let id = block.id { cursor = EventCursor(id) }
            failures = 0
        }

        /// Returns the stream that is open, or opens it; nil when no event will follow.
        private mutating func opened() async throws(TransferError) -> OpenStream? {
            if let stream { return stream }
            if !hasStarted {
                cursor = try await events.start()
                hasStarted = true
            }
            var request = events.request
            if let cursor { request = request.adding("Last-Event-ID", cursor.description) }
            let response = try await events.service.open(request)
            // So an EventSource too is told to connect no more.
            if response.status == 204 { return nil }
            guard response.header("Content-Type")?.hasPrefix("text/event-stream") == true else {
                var error = TransferError(
                    .unexpectedResponse,
                    "The response is no stream of events."
                )
                error.status = response.status
                throw error
            }
            wasOpen = true
            return OpenStream(parts: response.body.makeAsyncIterator())
        }

        private mutating func pauseBeforeReconnecting(
            _ error: TransferError
        ) async throws(TransferError) {
            failures += 1
            let policy = RetryPolicy(
                attemptsMax: .max,
                delayBase: pause,
                delayMax: TransferEvents.pauseMax
            )
            let delay = policy.pause(
                asked: error.retryAfter,
                attempts: failures,
                fraction: .random(in: 0...1)
            )
            do throws(TransferError) {
                try await TransferService.pause(delay)
            } catch {
                isOver = true
                throw error
            }
        }
    }
}
