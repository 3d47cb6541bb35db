import Foundation

/// What followed the last byte of one download, and how long after it.
struct Latency {
    /// Until `task.completed` was at the subscriber.
    let completed: Duration
    /// Of that, since the time that the event itself names.
    let age: Duration
    /// Until `session.events_finished` was.
    let finished: Duration
}

extension Service {
    /// Pauses between downloads, uneven so that they meet whatever recurs in the service anywhere.
    private static let pauses = 30...120

    /// Downloads a small file `count` times, each when all events of the one before have arrived at
    /// a subscriber of all events.
    func latencies(of count: Int) async throws -> [Latency] {
        let peer = try Peer(fileBytes: Origin.smallBytes)
        defer { peer.stop() }
        let subscription = try await subscribe(#"{"url":"\#(peer.hookURL)"}"#)
        let session = try await session()
        var samples = peer.samples.makeAsyncIterator()
        var latencies: [Latency] = []
        for _ in 0..<count {
            try await submit([peer.fileURL], to: session)
            guard let sample = await samples.next(), let completed = sample.completed,
                let finished = sample.finished
            else { throw Program.Failure(description: "a message is missing") }
            latencies.append(
                Latency(
                    completed: completed - sample.sent,
                    age: sample.age,
                    finished: finished - sample.sent
                )
            )
            try await Task.sleep(for: .milliseconds(Int.random(in: Self.pauses)))
        }
        _ = try await send("DELETE", "/v1/subscriptions/\(subscription)")
        return latencies
    }
}
