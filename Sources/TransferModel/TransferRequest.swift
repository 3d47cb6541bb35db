/// What a task asks of its origin, besides address and headers.
package struct TransferRequest: Equatable, Sendable {
    /// Which way the bytes go.
    package enum Kind: String, CaseIterable, Sendable {
        case download, upload
    }

    /// Where the bytes of an upload come from.
    package enum UploadSource: Equatable, Sendable {
        /// A file of the tenant's container, by its relative path.
        case file(path: String)
        /// What the client has brought to the service.
        case staged
        /// These bytes, at most ``dataBytesMax``.
        case data([UInt8])

        /// The most bytes that go with the task itself.
        package static let dataBytesMax = 64 * 1024
    }

    /// The request's method (RFC 9110 §9).
    package var method: String
    /// Nil for a download.
    package var upload: UploadSource?

    package static let methodBytesMax = 32
    /// The most bytes of an origin's answer to an upload that are kept.
    package static let responseBodyBytesMax = 64 * 1024

    package init(method: String? = nil, upload: UploadSource? = nil) {
        self.method = method ?? (upload == nil ? "GET" : "PUT")
        self.upload = upload
    }

    package var kind: Kind { upload == nil ? .download : .upload }

    /// Whether the origin may see the request twice without harm (RFC 9110 §9.2.2).
    package var isIdempotent: Bool {
        ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"].contains(method)
    }

    /// The request that follows a redirect with `status` (RFC 9110 §15.4).
    ///
    /// 303 asks for the answer elsewhere; 301 and 302 do so for a POST, as everybody has
    /// implemented them.
    package func redirected(status: Int) -> TransferRequest {
        switch status {
        case 303 where method != "HEAD": TransferRequest(method: "GET")
        case 301 where method == "POST", 302 where method == "POST": TransferRequest(method: "GET")
        default: self
        }
    }
}
