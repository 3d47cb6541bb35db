/// A request that its client may repeat, with the answer that it gets each time.
package struct IdempotencyRecord: Sendable {
    /// The answer to the first request, given again to each repetition.
    package struct Response: Equatable, Sendable {
        package let status: Int
        package let location: String?
        package let body: [UInt8]

        package init(status: Int, location: String?, body: [UInt8]) {
            self.status = status
            self.location = location
            self.body = body
        }
    }

    /// The key, unique within the tenant; compared as bytes.
    package let key: [UInt8]
    /// The fingerprint of the method, path and body.
    package let requestSHA256: [UInt8]
    package let response: Response

    package init(key: [UInt8], requestSHA256: [UInt8], response: Response) {
        self.key = key
        self.requestSHA256 = requestSHA256
        self.response = response
    }
}
