/// A request that its client may repeat, with the answer to give each time.
package struct IdempotencyRecord: Sendable {
    /// What was answered, to be answered again.
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

    /// Scoped to the tenant; compared as bytes.
    package let key: [UInt8]
    /// Fingerprint of method, path and body.
    package let requestSHA256: [UInt8]
    package let response: Response

    package init(key: [UInt8], requestSHA256: [UInt8], response: Response) {
        self.key = key
        self.requestSHA256 = requestSHA256
        self.response = response
    }
}
