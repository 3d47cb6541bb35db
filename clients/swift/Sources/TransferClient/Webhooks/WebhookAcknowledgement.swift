import TransferWire

/// What tells the service later that the work for `session.events_finished` is done.
public struct WebhookAcknowledgement: Sendable {
    /// The token of the message.
    public let token: String
    let path: String

    init?(_ message: EventMessage) {
        guard let token = message.data.ackToken, let session = message.data.sessionIdentifier else {
            return nil
        }
        self.token = token
        let client = message.data.client.map { "?client=\(PercentEncoding.encodeSegment($0))" }
        path = "\(APIPath.session(session))/events/ack\(client ?? "")"
    }
}
