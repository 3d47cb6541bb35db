import Curl
import Foundation

/// HTTP to origins and to transferd's peers.
enum Web {
    private static let loop: CurlLoop? = try? CurlLoop(name: "bench")
    private static let bodyMax = 16 << 20
    /// The number of times to try a program that is starting, a tenth of a second apart.
    private static let startTries = 300

    /// Sends a request.
    ///
    /// - Throws: ``Program/Failure`` for any status but 2xx.
    static func send(
        _ method: String,
        _ url: String,
        json: String? = nil
    ) async throws -> Data {
        guard let loop else { throw Program.Failure(description: "no event loop") }
        let request = CurlRequest(
            url: url,
            method: method,
            headers: [(name: "Content-Type", value: "application/json")],
            body: json.map { Array($0.utf8) },
            egress: EgressGuard { _ in true }
        )
        let response = try await loop.fetch(request, bodyMax: bodyMax)
        guard (200...299).contains(response.head.status) else {
            throw Program.Failure(
                description: "\(method) \(url): \(response.head.status) "
                    + String(decoding: response.body.prefix(500), as: UTF8.self)
            )
        }
        return Data(response.body)
    }

    /// Waits for a program that is starting.
    static func untilAnswering(_ url: String, json: String? = nil) async throws {
        for _ in 0..<startTries {
            if (try? await send(json == nil ? "GET" : "POST", url, json: json)) != nil { return }
            try await Task.sleep(for: .milliseconds(100))
        }
        throw Program.Failure(description: "\(url) does not answer")
    }
}
