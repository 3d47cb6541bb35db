package import StandardWebhooks

/// The address of a subscription's messages, and the headers and keys that go into them.
package struct Endpoint: Sendable {
    package let url: String
    /// The headers that the subscription's owner set.
    package let headers: [HTTPHeader]
    /// The keys that sign a message, all of them, from the newest.
    package let secrets: [SigningSecret]
    /// The key of acknowledgement tokens, known only to the service.
    package let ackKey: [UInt8]

    package init(
        url: String,
        headers: [HTTPHeader] = [],
        secrets: [SigningSecret],
        ackKey: [UInt8]
    ) {
        self.url = url
        self.headers = headers
        self.secrets = secrets
        self.ackKey = ackKey
    }
}
