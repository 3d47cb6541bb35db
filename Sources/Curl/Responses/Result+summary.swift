extension Result<CurlSummary, CurlError> {
    /// The summary of the transfer, successful or not.
    package var summary: CurlSummary {
        switch self {
        case .success(let summary): summary
        case .failure(let error): error.summary
        }
    }

    /// Whether the server has refused the request without having acted on it.
    package var isRequestRefused: Bool {
        guard case .failure(let error) = self else { return false }
        return error.code == .requestRefused
    }
}
