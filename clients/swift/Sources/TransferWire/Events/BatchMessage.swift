/// A message with several events of a session, in the form of a message with one event.
public struct BatchMessage: Codable, Sendable {
    /// The identifier derived from the events; the `webhook-id` of the message.
    public let id: String
    /// The type, always `events.batch`.
    public let type: String
    /// The time of the last event.
    public let timestamp: Timestamp
    /// The version of the form of `data`.
    public let version: Int
    /// The events and their session.
    public let data: Content

    /// Creates the value from its parts.
    public init(id: String, type: String, timestamp: Timestamp, data: Content) {
        self.id = id
        self.type = type
        self.timestamp = timestamp
        version = EventMessage.version
        self.data = data
    }

    /// The events in their order, each as its own message would be.
    public struct Content: Codable, Sendable {
        /// The client of the session; absent, like the session's identifier, for what happened in
        /// no session.
        public let client: String?
        /// The identifier that the client gave the session.
        public let sessionIdentifier: String?
        /// The session's own identifier; absent for what happened in no session.
        public let sessionID: String?
        /// The sequence of the first event.
        public let firstSequence: Int64
        /// The sequence of the last event.
        public let lastSequence: Int64
        /// The events in their order.
        public let events: [EventMessage]

        /// Creates the value from its parts.
        public init(events: [EventMessage]) {
            client = events.first?.data.client
            sessionIdentifier = events.first?.data.sessionIdentifier
            sessionID = events.first?.data.sessionID
            firstSequence = events.first?.data.sequence ?? 0
            lastSequence = events.last?.data.sequence ?? 0
            self.events = events
        }

        private enum CodingKeys: String, CodingKey {
            case client, events
            case sessionIdentifier = "session_identifier"
            case sessionID = "session_id"
            case firstSequence = "first_sequence"
            case lastSequence = "last_sequence"
        }
    }
}
