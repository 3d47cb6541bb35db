package import Foundation

/// The origin's answer to a completed task.
package struct TransferResult: Equatable, Sendable {
    package let httpStatus: Int
    package let bytesReceived: Int64
    /// The response's fields, as far as they are kept.
    package let fields: KeptFields
    /// Whether the server announced the length that was checked.
    package let isLengthVerified: Bool
    /// Whether only the beginning of the body is kept.
    package let isTruncated: Bool
    /// The file name of ``SuggestedFileName``.
    package let suggestedFileName: String?
    /// The URL that answered, if that is another than the task's, without its query, which
    /// may be a secret of the origin's; at most ``finalURLBytesMax`` bytes.
    package let finalURL: String?
    /// The size of an upload's body, if the server answered before all of it was sent; nil
    /// otherwise.
    package let bytesToSend: Int64?
    /// The checksums that the bytes have been found to have.
    package var checksums: [Checksum]
    /// The file that was put at the destination; nil without one.
    package var file: FileIdentity?

    /// The longest final URL that is kept, in bytes.
    package static let finalURLBytesMax = 8192

    package init(
        httpStatus: Int,
        bytesReceived: Int64,
        fields: KeptFields = KeptFields(of: []),
        isLengthVerified: Bool,
        isTruncated: Bool = false,
        suggestedFileName: String? = nil,
        finalURL: String? = nil,
        bytesToSend: Int64? = nil,
        checksums: [Checksum] = [],
        file: FileIdentity? = nil
    ) {
        self.httpStatus = httpStatus
        self.bytesReceived = bytesReceived
        self.fields = fields
        self.isLengthVerified = isLengthVerified
        self.isTruncated = isTruncated
        self.suggestedFileName = suggestedFileName
        self.finalURL = finalURL.flatMap { url in
            let plain = url.prefix { $0 != "?" && $0 != "#" }
            return plain.utf8.count <= Self.finalURLBytesMax ? String(plain) : nil
        }
        self.bytesToSend = bytesToSend
        self.checksums = checksums
        self.file = file
    }

    /// The media type of the content.
    package var contentType: String? { fields["content-type"] }
    /// The entity tag of the content.
    package var etag: String? { fields["etag"] }
    /// The codings that the origin has applied to the content, and that its bytes still have (RFC
    /// 9110 §8.4).
    package var contentEncoding: String? { fields["content-encoding"] }
}

extension TransferResult {
    /// What tells the file of a completed download from another that has taken its name.
    package struct Content: Equatable, Sendable {
        package let bytes: Int64
        /// The file that was put at the destination; nil of one that has no destination.
        package let file: FileIdentity?
        package let finishedAt: Date

        package init(bytes: Int64, file: FileIdentity?, finishedAt: Date) {
            self.bytes = bytes
            self.file = file
            self.finishedAt = finishedAt
        }
    }
}
