/// The failure that a test of a client wants the next attempt of a task to end with.
package struct TestFailure: Equatable, Sendable {
    /// The statuses that an origin may be made to seem to answer with.
    package static let httpStatusRange = 400...599

    package let code: TransferFailure.Code
    /// The status of the answer, for the code `http_status` and no other.
    package let httpStatus: Int?

    /// - Returns: nil when no origin could be at fault in this way: a failure of the service itself
    ///   would concern other tenants too.
    package init?(code: TransferFailure.Code, httpStatus: Int?) {
        let isStatus = code == .httpStatus
        guard isStatus == (httpStatus != nil),
            httpStatus.map(Self.httpStatusRange.contains) ?? true,
            [.network, .http].contains(TransferFailure(code, "").domain)
        else { return nil }
        self.code = code
        self.httpStatus = httpStatus
    }

    /// The failure of the attempt.
    package var failure: TransferFailure {
        TransferFailure(code, "A test wanted this attempt to fail.", httpStatus: httpStatus)
    }
}
