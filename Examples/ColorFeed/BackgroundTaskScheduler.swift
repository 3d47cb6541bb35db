import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A request for a background task, as far as this example needs it.
struct BackgroundTaskRequest: Encodable, Sendable {
    let identifier: String
    let recurrence: Recurrence
    let requiresNetworkConnectivity: Bool?
    let requiresExternalPower: Bool?
}

/// When a background task recurs.
struct Recurrence: Encodable, Sendable {
    let everySeconds: Int
}

/// The calls of transferd's API that this example makes.
struct BackgroundTaskScheduler: Sendable {
    struct Refusal: Error {
        let status: Int
        let body: String
    }

    private struct Subscription: Decodable {
        let secret: String
    }

    let address: String
    let key: String

    func permit(_ identifiers: [String]) async throws {
        try await send(
            "PATCH",
            "tenant/background-settings",
            ["permitted_identifiers": identifiers]
        )
    }

    /// Returns the secret that signs the messages.
    func subscribe(to url: String, types: [String]) async throws -> String {
        struct Body: Encodable {
            let url: String
            let eventTypes: [String]
        }
        let answer = try await send("POST", "subscriptions", Body(url: url, eventTypes: types))
        return try JSONDecoder().decode(Subscription.self, from: answer).secret
    }

    /// Registers a handler, unless an earlier start has done so.
    func register(_ identifier: String, kind: String) async throws {
        do {
            try await send("PUT", "background-tasks/handlers/\(identifier)", ["kind": kind])
        } catch let refusal as Refusal where refusal.status == 409 {
            return
        }
    }

    func submit(_ request: BackgroundTaskRequest) async throws {
        try await send("POST", "background-tasks/requests", request)
    }

    func complete(_ run: String, success: Bool) async throws {
        try await send("POST", "background-tasks/runs/\(run)/complete", ["success": success])
    }

    @discardableResult
    private func send(
        _ method: String,
        _ path: String,
        _ body: some Encodable
    ) async throws -> Data {
        guard let url = URL(string: "\(address)/v1/\(path)") else { throw URLError(.badURL) }
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        var request = URLRequest(url: url)
        request.httpMethod = method
        request.httpBody = try encoder.encode(body)
        request.setValue("Bearer \(key)", forHTTPHeaderField: "Authorization")
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        let (data, response) = try await URLSession.shared.data(for: request)
        let status = (response as? HTTPURLResponse)?.statusCode ?? 0
        guard (200..<300).contains(status) else {
            throw Refusal(status: status, body: String(decoding: data, as: UTF8.self))
        }
        return data
    }
}
