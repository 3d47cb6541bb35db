import Foundation

extension Service {
    /// The number of sessions whose events wait for delivery.
    private static let sessions = 20

    private struct Created: Decodable {
        let id: String
    }

    /// Delivers `count` events to a receiver that answers at once, beside a subscription to the
    /// same events whose receiver never answers.
    ///
    /// - Returns: seconds from the time when the first may be sent until all have arrived.
    func deliver(_ count: Int, to origin: Origin) async throws -> Double {
        let hole = try BlackHole()
        defer { hole.close() }
        let dead = try await subscribe(#"{"url":"http://127.0.0.1:\#(hole.port)/"}"#)
        let living = try await subscribe(
            #"{"url":"\#(origin.hookURL)","enabled":false,"concurrency":16}"#
        )
        let task = #"{"url":"\#(origin.largeURL)","autostart":false}"#
        let batchMax = min(Submission.batchMax, count / Self.sessions)
        let batch = "[" + Array(repeating: task, count: batchMax).joined(separator: ",") + "]"
        for _ in 0..<count / batchMax {
            let session = "/v1/sessions/\(UUID().uuidString)"
            _ = try await send("PUT", session)
            _ = try await send("POST", "\(session)/tasks", batch)
        }
        let before = try await origin.requestCount()
        var polls = 0
        let start = ContinuousClock.now
        _ = try await send("PATCH", "/v1/subscriptions/\(living)", #"{"enabled":true}"#)
        while true {
            polls += 1
            if try await origin.requestCount() - before - polls >= count { break }
            try await Task.sleep(for: .milliseconds(5))
        }
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        for id in [dead, living] { _ = try await send("DELETE", "/v1/subscriptions/\(id)") }
        return seconds
    }

    /// Makes a subscription and returns its identifier.
    func subscribe(_ body: String) async throws -> String {
        let answer = try await send("POST", "/v1/subscriptions", body)
        return try JSONDecoder().decode(Created.self, from: answer).id
    }
}
