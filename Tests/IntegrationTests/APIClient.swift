import Curl
import Foundation
import TransferWire

/// Speaks to a running service over HTTP.
final class APIClient: Sendable {
    /// The longest answer read.
    private static let bodyMax = 16 << 20

    private let address: String
    private let key: String
    private let curl: CurlLoop

    convenience init(_ service: ServiceProcess, key: String) throws {
        try self.init(port: service.announcement.port, key: key)
    }

    /// Of a service that has not said where it listens.
    init(port: Int, key: String) throws {
        address = "http://127.0.0.1:\(port)"
        self.key = key
        curl = try CurlLoop(name: "api-client")
    }

    deinit { curl.stop() }

    /// Sends a request and gives back whatever was answered.
    func send(
        _ method: String,
        _ path: String,
        _ body: String? = nil,
        idempotencyKey: String? = nil
    ) async throws -> (status: Int, head: ResponseHead, body: [UInt8]) {
        var request = CurlRequest(
            url: address + path,
            method: method,
            headers: [("Authorization", "Bearer \(key)"), ("Content-Type", "application/json")],
            body: body.map { Array($0.utf8) },
            egress: EgressGuard { _ in true }
        )
        request.isReplayable = false
        if let idempotencyKey { request.headers.append(("Idempotency-Key", idempotencyKey)) }
        let response = try await curl.fetch(request, bodyMax: Self.bodyMax)
        return (response.head.status, response.head, response.body)
    }

    /// The status of an answer, nil when there is none.
    func status(_ method: String, _ path: String, _ body: String? = nil) async -> Int? {
        try? await send(method, path, body).status
    }

    /// The answer to a request, as a wire type.
    func get<Value: Decodable>(_ path: String, as type: Value.Type = Value.self) async throws
        -> Value
    {
        try JSONDecoder().decode(type, from: Data(try await send("GET", path).body))
    }

    /// All events of a session, page by page.
    func events(of session: String) async throws -> [EventMessage] {
        var events: [EventMessage] = []
        while true {
            let page: EventPage = try await get(
                "/v1/sessions/\(session)/events?after=\(events.last?.data.sequence ?? 0)"
            )
            if page.items.isEmpty { return events }
            events += page.items
        }
    }

    /// Submits a download of each URL.
    ///
    /// - Returns: their identifiers.
    func submit(_ urls: [String], to session: String) async throws -> [String] {
        try await submit(tasks: urls.map { #"{"url":"\#($0)"}"# }, to: session)
    }

    /// Submits a download of each URL, every other one with a destination: `d1`, `d3` and so on.
    ///
    /// - Returns: their identifiers, and how the name of the file of each begins.
    func submitNamingEveryOther(
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

    private func submit(tasks: [String], to session: String) async throws -> [String] {
        let answer = try await send(
            "POST",
            "/v1/sessions/\(session)/tasks",
            "[\(tasks.joined(separator: ","))]"
        )
        return try JSONDecoder().decode(BatchReceipt.self, from: Data(answer.body)).items.map(\.id)
    }
}
