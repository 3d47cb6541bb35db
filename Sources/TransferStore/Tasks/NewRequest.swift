package import TransferModel

/// The request that a client wants in place of the one that it had submitted.
package struct NewRequest: Sendable {
    package let url: String
    package let hostKey: HostKey
    package let headers: [HTTPHeader]

    package init(url: String, hostKey: HostKey, headers: [HTTPHeader]) {
        self.url = url
        self.hostKey = hostKey
        self.headers = headers
    }
}
