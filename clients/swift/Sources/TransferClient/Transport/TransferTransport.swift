/// What sends the requests of a client: an HTTP library, or something that stands in for one.
public protocol TransferTransport: Sendable {
    /// Sends a request once, without following redirects, and returns once the response has
    /// started.
    ///
    /// Cancelling the caller's task ends the request.
    ///
    /// - Throws: ``TransportFailure`` when there was no response.
    func send(_ request: TransportRequest) async throws(TransportFailure) -> TransportResponse
}
