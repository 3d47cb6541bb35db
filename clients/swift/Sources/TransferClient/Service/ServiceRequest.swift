import Foundation
import TransferWire

/// A request to the service, before it is sent.
struct ServiceRequest: Sendable {
    let method: String
    /// The path with its query, but without the name of the client.
    let path: String
    var headers: [(name: String, value: String)] = []
    var body: TransportRequest.Body = .none
    /// Whether the request may reach the service twice.
    var isRepeatable: Bool
    /// Whether the path belongs to a session, so that the query names the client.
    var isOfClient = false
    /// A status beside 2xx whose response is a document, and no problem.
    var statusOfDocument: Int?
    /// The time within which the response has to start, if it is not that of all requests.
    var timeout: Duration?

    /// Creates a request without a body; all of RFC 9110's idempotent methods are repeatable.
    init(_ method: String, _ path: String) {
        self.method = method
        self.path = path
        isRepeatable = ["GET", "PUT", "DELETE"].contains(method)
    }

    /// Creates a request with a document.
    ///
    /// - Throws: ``TransferError`` with the code `misconfigured` for what JSON cannot hold.
    init(
        _ method: String,
        _ path: String,
        json document: some Encodable
    ) throws(TransferError) {
        self.init(method, path, json: try Self.encoding(document))
    }

    /// Creates a request with a JSON text.
    init(_ method: String, _ path: String, json bytes: [UInt8]) {
        self.init(method, path)
        body = .bytes(bytes)
        headers.append(("Content-Type", "application/json"))
    }

    /// Returns the same request, which may reach the service twice.
    func repeatable() -> ServiceRequest {
        var request = self
        request.isRepeatable = true
        return request
    }

    /// Returns the same request with a new `Idempotency-Key`, which makes it repeatable.
    func withIdempotencyKey() -> ServiceRequest {
        var request = repeatable()
        request.headers.append(("Idempotency-Key", UUID().uuidString))
        return request
    }

    /// Returns the same request for the session of a client.
    func ofClient() -> ServiceRequest {
        var request = self
        request.isOfClient = true
        return request
    }

    /// Returns the same request with a header field.
    func adding(_ name: String, _ value: String) -> ServiceRequest {
        var request = self
        request.headers.append((name, value))
        return request
    }

    /// Returns the target of the request line.
    func target(client: String?) -> String {
        guard isOfClient, let client else { return path }
        let mark = path.contains("?") ? "&" : "?"
        return "\(path)\(mark)client=\(PercentEncoding.encodeSegment(client))"
    }

    /// Returns the JSON of a document.
    ///
    /// - Throws: ``TransferError`` with the code `misconfigured` for what JSON cannot hold: a
    ///   number that is not finite, or a date beyond the year 9999.
    static func encoding(_ document: some Encodable) throws(TransferError) -> [UInt8] {
        do {
            return try WireEncoder.encode(document)
        } catch {
            throw TransferError(.misconfigured, "A number or a date has no form in JSON.")
        }
    }
}
