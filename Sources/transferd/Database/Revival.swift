import Logging

/// Starts a private server again that was there and is gone, as with the container that had it.
///
/// It does so at intervals, and tells of each failure once.
struct Revival {
    /// The pause between two, each of which may wait for a silent server.
    static let interval: Duration = .seconds(5)

    private var endedAt: ContinuousClock.Instant?
    private var told: String?

    /// Calls `start`, which starts the server unless it runs, if it is time for it.
    mutating func revive(logger: Logger, _ start: () async throws -> Void) async {
        guard !Task.isCancelled, isDue(at: .now) else { return }
        var failure: String?
        do {
            try await start()
        } catch {
            failure = "\(error)"
        }
        if end(failure, at: .now), let failure {
            logger.error("database not started again", metadata: ["error": "\(failure)"])
        }
    }

    /// Returns whether it is time for another one.
    func isDue(at time: ContinuousClock.Instant) -> Bool {
        endedAt.map { time - $0 >= Self.interval } ?? true
    }

    /// Takes in the end of one, with its failure if there was one, and returns whether that is to
    /// be told: it is not what was told last.
    mutating func end(_ failure: String?, at time: ContinuousClock.Instant) -> Bool {
        defer { (endedAt, told) = (time, failure) }
        return failure != nil && failure != told
    }

    /// Forgets what was told, once the server answers.
    mutating func answered() { told = nil }
}
