/// The origin's answer to a completed task.
package struct TransferResult: Equatable, Sendable {
    package let httpStatus: Int
    package let bytesReceived: Int64
    /// The response's `Content-Type`, at most 255 bytes.
    package let contentType: String?
    /// The response's `ETag`, at most 255 bytes.
    package let etag: String?
    /// Whether the server announced the length that was checked.
    package let isLengthVerified: Bool
    /// The file name of ``SuggestedFileName``.
    package let suggestedFileName: String?

    package init(
        httpStatus: Int,
        bytesReceived: Int64,
        contentType: String?,
        etag: String?,
        isLengthVerified: Bool,
        suggestedFileName: String? = nil
    ) {
        self.httpStatus = httpStatus
        self.bytesReceived = bytesReceived
        self.contentType = contentType
        self.etag = etag
        self.isLengthVerified = isLengthVerified
        self.suggestedFileName = suggestedFileName
    }
}
