import Foundation
import TransferClient
import TransferWire

/// The times of one download of a small file, and of the messages that follow it.
struct Latency {
    /// The time from the answer to its submission, which waits for the disk, to the last byte that
    /// the origin sent.
    let started: Duration
    /// The time until `task.completed` reached the subscriber.
    let completed: Duration
    /// The part of ``completed`` after the time that the event itself names.
    let age: Duration
    /// The time until `session.events_finished` reached the subscriber.
    let finished: Duration
}

extension Service {
    /// The pauses between downloads, uneven so that they meet periodic work of the service at any
    /// point.
    private static let pauses = 30...120

    /// Downloads a small file `count` times, each when all events of the previous download have
    /// reached a subscriber to all events.
    func latencies(of count: Int) async throws -> [Latency] {
        let peer = try Peer(fileBytes: Origin.smallBytes)
        defer { peer.stop() }
        let subscription = try await client.subscribe(SubscriptionRequest(url: peer.hookURL))
        let session = try await session()
        var samples = peer.samples.makeAsyncIterator()
        var latencies: [Latency] = []
        for _ in 0..<count {
            try await submit([peer.fileURL], to: session)
            let accepted = ContinuousClock.now
            guard let sample = await samples.next(), let completed = sample.completed,
                let finished = sample.finished
            else { throw Program.Failure(description: "a message is missing") }
            latencies.append(
                Latency(
                    started: max(.zero, sample.sent - accepted),
                    completed: completed - sample.sent,
                    age: sample.age,
                    finished: finished - sample.sent
                )
            )
            try await Task.sleep(for: .milliseconds(Int.random(in: Self.pauses)))
        }
        try await client.unsubscribe(subscription.id)
        return latencies
    }
}
