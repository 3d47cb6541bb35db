package import TransferModel

/// The request that a client wants in place of the one that it had submitted.
package struct NewRequest: Sendable {
    package let url: String
    package let lane: Lane
    package let headers: [HTTPHeader]

    package init(url: String, lane: Lane, headers: [HTTPHeader]) {
        self.url = url
        self.lane = lane
        self.headers = headers
    }
}
