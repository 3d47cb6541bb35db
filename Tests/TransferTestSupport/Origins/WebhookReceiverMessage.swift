import Foundation

/// One message as it reached a subscriber.
package struct ReceivedWebhook: Sendable {
    /// The header fields in order.
    package let headers: [(name: String, value: String)]
    /// The bytes of the body, as received.
    package let body: [UInt8]
    /// The method as sent.
    package let method: String

    init(_ request: OriginRequest) {
        headers = request.headers
        body = request.body
        method = request.method
    }

    /// Returns the value of the first field of that name.
    package subscript(name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }

    /// The message's identifier.
    package var id: String { self["webhook-id"] ?? "" }

    /// Returns the session and the sequence number of the message's event, and its type.
    package func event() throws -> (session: String, sequence: Int64, type: String) {
        let event = try JSONDecoder().decode(Event.self, from: Data(body))
        return (event.data.session_identifier, event.data.sequence, event.type)
    }

    private struct Event: Decodable {
        let type: String
        let data: Content

        struct Content: Decodable {
            let session_identifier: String
            let sequence: Int64
        }
    }
}
