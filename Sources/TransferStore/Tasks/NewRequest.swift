package import TransferModel

/// The request that a client wants in place of the one that it had submitted.
package struct NewRequest: Sendable {
    /// The URL to request.
    package let url: String
    /// The key of the URL's host.
    package let hostKey: HostKey
    /// The header fields to send.
    package let headers: [HTTPHeader]

    package init(url: String, hostKey: HostKey, headers: [HTTPHeader]) {
        self.url = url
        self.hostKey = hostKey
        self.headers = headers
    }
}
