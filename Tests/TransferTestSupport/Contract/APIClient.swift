package import Curl
import Foundation
package import TransferWire

/// A client of a running service over HTTP.
package final class APIClient: Sendable {
    /// The maximum number of bytes read of an answer.
    private static let bodyMax = 16 << 20

    private let address: String
    private let key: String
    private let curl: CurlLoop
    private let timeout: Duration?

    /// - Parameters:
    ///   - service: the service to send requests to.
    ///   - key: an API key.
    ///   - timeout: the time that an answer may take as a whole; nil for any time.
    /// - Throws: an error when there is no thread for it.
    package convenience init(
        _ service: ServiceProcess,
        key: String,
        timeout: Duration? = nil
    ) throws {
        try self.init(port: service.announcement.port, key: key, timeout: timeout)
    }

    /// Makes a client of a service that has not said where it listens.
    package init(port: Int, key: String, timeout: Duration? = nil) throws {
        self.timeout = timeout
        address = "http://127.0.0.1:\(port)"
        self.key = key
        curl = try CurlLoop(name: "api-client")
    }

    deinit { curl.stop() }

    /// Sends a request and returns whatever was answered.
    package func send(
        _ method: String,
        _ path: String,
        _ body: String? = nil,
        idempotencyKey: String? = nil,
        fields: [(String, String)] = []
    ) async throws -> (status: Int, head: ResponseHead, body: [UInt8]) {
        var request = CurlRequest(
            url: address + path,
            method: method,
            headers: [("Authorization", "Bearer \(key)"), ("Content-Type", "application/json")]
                + fields,
            body: body.map { Array($0.utf8) },
            egress: EgressGuard { _ in true }
        )
        // Another request is not sent twice, so that each has a connection of its own.
        request.isReplayable = method == "GET"
        request.totalTimeout = timeout
        if let idempotencyKey { request.headers.append(("Idempotency-Key", idempotencyKey)) }
        let response = try await curl.fetch(request, bodyMax: Self.bodyMax)
        return (response.head.status, response.head, response.body)
    }

    /// Returns the status of an answer; nil when there is none.
    package func status(_ method: String, _ path: String, _ body: String? = nil) async -> Int? {
        try? await send(method, path, body).status
    }

    /// Returns the answer to a request, as a wire type.
    package func get<Value: Decodable>(
        _ path: String,
        as type: Value.Type = Value.self
    ) async throws -> Value {
        try JSONDecoder().decode(type, from: Data(try await send("GET", path).body))
    }

    /// Returns all events of a session, page by page.
    package func events(of session: String) async throws -> [EventMessage] {
        var events: [EventMessage] = []
        var place = ""
        while true {
            let page: EventPage = try await get("/v1/sessions/\(session)/events\(place)")
            place = "?after=\(page.next)"
            if page.items.isEmpty { return events }
            events += page.items
        }
    }

    /// Submits a download of each URL.
    ///
    /// - Returns: the identifiers of the tasks.
    package func submit(_ urls: [String], to session: String) async throws -> [String] {
        try await submit(tasks: urls.map { #"{"url":"\#($0)"}"# }, to: session)
    }

    /// Submits a download of each URL, every other one with a destination: `d1`, `d3` and so on.
    ///
    /// - Returns: the identifiers of the tasks, and the prefix of the file name of each.
    package func submitNamingEveryOther(
        _ urls: [String],
        to session: String
    ) async throws -> (ids: [String], names: [String]) {
        let tasks = urls.enumerated().map { index, url in
            index % 2 == 0
                ? #"{"url":"\#(url)"}"#
                : #"{"url":"\#(url)","destination":{"path":"d\#(index)","overwrite":false}}"#
        }
        let ids = try await submit(tasks: tasks, to: session)
        return (ids, ids.enumerated().map { $0 % 2 == 0 ? $1 : "d\($0)" })
    }

    /// Submits tasks given as JSON.
    ///
    /// - Returns: the identifiers of the tasks.
    package func submit(tasks: [String], to session: String) async throws -> [String] {
        let answer = try await send(
            "POST",
            "/v1/sessions/\(session)/tasks",
            "[\(tasks.joined(separator: ","))]"
        )
        return try JSONDecoder().decode(BatchReceipt.self, from: Data(answer.body)).items.map(\.id)
    }
}
