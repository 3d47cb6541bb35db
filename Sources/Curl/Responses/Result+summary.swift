extension Result<CurlSummary, CurlError> {
    /// The summary of the transfer, successful or not.
    package var summary: CurlSummary {
        switch self {
        case .success(let summary): summary
        case .failure(let error): error.summary
        }
    }
}
