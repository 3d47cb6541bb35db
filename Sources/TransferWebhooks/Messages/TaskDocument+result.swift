import Foundation
package import TransferModel
package import TransferWire

extension TaskDocument.Failure {
    /// Creates a failure as clients see it.
    package init(_ failure: TransferFailure) {
        self.init(
            domain: failure.domain.rawValue,
            code: failure.code.rawValue,
            message: failure.message,
            httpStatus: failure.httpStatus,
            isRetryable: failure.isRetryable
        )
        if !failure.challenges.isEmpty {
            challenges = failure.challenges.map { Challenge(scheme: $0.scheme, realm: $0.realm) }
        }
    }
}

extension TaskDocument.Response {
    /// Creates a response as clients see it; in an event, which is to stay small, without header
    /// fields and without the query of the final URL, which may hold a secret.
    package init(_ result: TransferResult, isInEvent: Bool = false) {
        let headers = Dictionary(
            result.fields.fields.map { ($0.name, $0.value) },
            uniquingKeysWith: { "\($0), \($1)" }
        )
        self.init(
            status: result.httpStatus,
            contentType: result.contentType,
            contentEncoding: result.contentEncoding,
            charset: result.contentType.flatMap { ContentType($0)?.charset },
            etag: result.etag,
            isLengthVerified: result.isLengthVerified,
            isTruncated: result.isTruncated ? true : nil,
            suggestedFilename: result.suggestedFileName,
            finalURL: result.finalURL.flatMap { isInEvent ? Self.inEvent($0) : $0 },
            checksums: result.checksums.byAlgorithm,
            headers: headers.isEmpty || isInEvent ? nil : headers
        )
    }

    private static func inEvent(_ url: String) -> String? {
        let plain = url.prefix { $0 != "?" && $0 != "#" }
        let bytesMax = SessionEvent.TaskRequestSnapshot.urlBytesMax
        return plain.utf8.count <= bytesMax ? String(plain) : nil
    }
}

extension [Checksum] {
    /// The checksums in hexadecimal, by the name of their algorithm; nil when there are none.
    package var byAlgorithm: [String: String]? {
        guard !isEmpty else { return nil }
        return Dictionary(
            map { ($0.algorithm.rawValue, $0.description) },
            uniquingKeysWith: { first, _ in first }
        )
    }
}
