import TransferClient

/// The transport of all commands, whose failures before a response name the service.
///
/// A flag, a variable or the current context may have chosen it.
struct NamedTransport: TransferTransport {
    /// The URL of the service.
    let url: String

    func send(
        _ request: TransportRequest
    ) async throws(TransportFailure) -> TransportResponse {
        do throws(TransportFailure) {
            return try await AsyncHTTPTransport.shared.send(request)
        } catch {
            switch error.kind {
            case .notConnected, .broken, .timedOut:
                throw TransportFailure(error.kind, "\(TerminalText.safe(url)): \(error.reason)")
            case .cancelled, .unreadable, .unusable: throw error
            }
        }
    }
}
