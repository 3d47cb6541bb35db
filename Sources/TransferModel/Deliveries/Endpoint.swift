/// Where a subscription's messages go, and with what.
package struct Endpoint: Sendable {
    package let url: String
    /// Of the subscription's owner.
    package let headers: [HTTPHeader]
    /// The keys that sign a message, all of them, from the newest.
    package let secrets: [SigningSecret]
    /// Makes tokens of acknowledgement; known to nobody but the service.
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
