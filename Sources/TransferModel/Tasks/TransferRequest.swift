/// The request that a task makes to its origin, without address and headers.
package struct TransferRequest: Equatable, Sendable {
    /// The direction of the bytes.
    package enum Kind: String, CaseIterable, Sendable {
        /// From the origin to a file.
        case download
        /// To the origin, from a file or from the task itself.
        case upload
        /// In either direction, few bytes, kept with the task; in ephemeral sessions only.
        case data

        /// The method of a request that names none.
        package var methodDefault: String { self == .upload ? "PUT" : "GET" }

        /// The most bytes of an origin's answer that are kept with the task.
        ///
        /// A longer answer to an upload is cut, while a data task fails: the answer is its purpose.
        package var answerBytesMax: Int {
            switch self {
            case .download: 0
            case .upload: 64 * 1024
            case .data: 256 * 1024
            }
        }
    }

    /// The source of the bytes that are sent.
    package enum UploadSource: Equatable, Sendable {
        /// A file of the tenant's container, by its relative path.
        case file(path: String)
        /// The body that the client has brought to the service.
        case staged
        /// What lies elsewhere.
        case copy(CopySource)
        /// These bytes, at most ``dataBytesMax``; the only source of a data task.
        case data([UInt8])

        /// The most bytes that are submitted with the task itself.
        package static let dataBytesMax = 64 * 1024
    }

    package let kind: Kind
    /// The request's method (RFC 9110 §9).
    package var method: String
    /// The source of the body; nil when nothing is sent, as by a download.
    package var upload: UploadSource?

    /// The longest method, in bytes.
    package static let methodBytesMax = 32

    /// Creates a request; without a kind, one with bytes to send is an upload and any other a
    /// download.
    package init(kind: Kind? = nil, method: String? = nil, upload: UploadSource? = nil) {
        let kind = kind ?? (upload == nil ? .download : .upload)
        self.kind = kind
        self.method = method ?? kind.methodDefault
        self.upload = upload
    }

    /// The task whose result is sent; nil when nothing or anything else is.
    package var copiedTask: TaskID? {
        guard case .copy(.result(let task)) = upload else { return nil }
        return task
    }

    /// Whether bytes are sent that the tenant keeps: a file of its container, or the result of a
    /// task.
    package var sendsKeptFile: Bool {
        switch upload {
        case .file, .copy(.result): true
        case .staged, .copy(.remote), .data, nil: false
        }
    }

    /// Whether the origin may see the request twice without harm.
    package var isIdempotent: Bool { Self.idempotentMethods.contains(method) }

    /// The idempotent methods (RFC 9110 §9.2.2).
    package static let idempotentMethods = ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"]

    /// Returns the request that follows a redirect with `status` (RFC 9110 §15.4).
    ///
    /// A 303 refers to the answer elsewhere; so do 301 and 302 for a POST, as everybody has
    /// implemented them.
    package func redirected(status: Int) -> TransferRequest {
        let isElsewhere =
            switch status {
            case 303: method != "HEAD"
            case 301, 302: method == "POST"
            default: false
            }
        return isElsewhere ? TransferRequest(kind: kind, method: "GET") : self
    }

    /// Follows a redirect with this status; fields that describe a body go with it.
    package mutating func follow(redirect status: Int, _ headers: inout [HTTPHeader]) {
        let hadBody = upload != nil
        self = redirected(status: status)
        if hadBody, upload == nil { headers.removeAll(where: \.describesContent) }
    }
}
