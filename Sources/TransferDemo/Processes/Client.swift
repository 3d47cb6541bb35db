import Curl
import Foundation
import TransferWire

/// Talks to the service as any client does: over its public HTTP API.
struct Client: Sendable {
    /// The size limit of an answer that is not content: a page of tasks with long client strings.
    private static let answerBytesMax = 64 * 1024 * 1024
    /// The number of bytes of an unexpected answer that are shown, enough to understand it.
    private static let excerptBytes = 2000

    let address: String
    let apiKey: String
    let curl: CurlLoop

    func putSession(_ identifier: String) async throws -> SessionDocument {
        try await send("PUT", "/v1/sessions/\(identifier)", expecting: 201)
    }

    func session(_ identifier: String) async throws -> SessionDocument {
        try await send("GET", "/v1/sessions/\(identifier)", expecting: 200)
    }

    func subscribe(_ url: String, to session: String) async throws -> SubscriptionDocument {
        try await send(
            "POST",
            "/v1/subscriptions",
            expecting: 201,
            WireEncoder.encode(SubscriptionRequest(url: url, sessionIdentifier: session))
        )
    }

    func submit(_ batch: Batch, to session: String) async throws -> BatchReceipt {
        let downloads = batch.items.map {
            TaskRequest(target: .url($0.url), clientPersistedString: $0.clientString)
        }
        return try await send(
            "POST",
            "/v1/sessions/\(session)/tasks",
            expecting: 202,
            WireEncoder.encode(downloads),
            idempotencyKey: "demo-batch"
        )
    }

    /// Returns the tasks of a session that fit on one page.
    func tasks(of session: String) async throws -> [TaskDocument] {
        let page: Page<TaskDocument> = try await send(
            "GET",
            "/v1/sessions/\(session)/tasks?limit=100",
            expecting: 200
        )
        return page.items
    }

    /// Reads a downloaded file without keeping it, and returns its digest.
    func contentDigest(_ path: String) async throws -> ContentDigest {
        let sink = DigestSink()
        let request = request("GET", path)
        let result = await withCheckedContinuation { continuation in
            sink.whenFinished { continuation.resume(returning: $0) }
            curl.start(request, sink: sink)
        }
        do {
            return try result.get()
        } catch {
            throw DemoError.unreachable(request: "GET \(path)", reason: "\(error)")
        }
    }

    private func send<Answer: Decodable>(
        _ method: String,
        _ path: String,
        expecting status: Int,
        _ body: [UInt8]? = nil,
        idempotencyKey: String? = nil
    ) async throws(DemoError) -> Answer {
        var request = request(method, path)
        request.body = body
        if body != nil { request.headers.append(("Content-Type", "application/json")) }
        if let idempotencyKey { request.headers.append(("Idempotency-Key", idempotencyKey)) }
        let response: BufferedResponse
        do {
            response = try await curl.fetch(request, bodyMax: Self.answerBytesMax)
        } catch {
            throw .unreachable(request: "\(method) \(path)", reason: "\(error)")
        }
        guard response.head.status == status,
            let answer = try? JSONDecoder().decode(Answer.self, from: Data(response.body))
        else {
            throw .unexpectedAnswer(
                request: "\(method) \(path)",
                status: response.head.status,
                body: String(decoding: response.body.prefix(Self.excerptBytes), as: UTF8.self)
            )
        }
        return answer
    }

    private func request(_ method: String, _ path: String) -> CurlRequest {
        CurlRequest(
            url: address + path,
            method: method,
            headers: [("Authorization", "Bearer \(apiKey)")],
            // The address comes from the service itself.
            egress: EgressGuard { _ in true }
        )
    }
}
