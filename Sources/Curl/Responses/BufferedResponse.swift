/// A response whose body is small enough to be kept in memory.
package struct BufferedResponse: Sendable {
    /// The final response's head.
    package let head: ResponseHead
    /// The body; with ``CurlLoop/BodyOverflow/truncate`` the first part of a longer one.
    package let body: [UInt8]
    /// The summary of the transfer.
    package let summary: CurlSummary
}
