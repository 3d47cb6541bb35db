/// The message that holds several events of a session, in the form of a message of one event.
package struct BatchMessage: Codable, Sendable {
    /// Derived from the events; the `webhook-id` of the message.
    package let id: String
    /// `events.batch`.
    package let type: String
    /// When the last of the events happened.
    package let timestamp: Timestamp
    package let version: Int
    package let data: Content

    package init(id: String, type: String, timestamp: Timestamp, data: Content) {
        self.id = id
        self.type = type
        self.timestamp = timestamp
        version = EventMessage.version
        self.data = data
    }

    /// The events in their order, each as its own message would be.
    package struct Content: Codable, Sendable {
        /// Whose session it is; absent for what happened in no session, as its identifier.
        package let client: String?
        package let sessionIdentifier: String?
        package let sessionID: String?
        package let firstSequence: Int64
        package let lastSequence: Int64
        package let events: [EventMessage]

        package init(events: [EventMessage]) {
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
