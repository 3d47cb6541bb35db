import Logging
import ServiceLifecycle
import Synchronization

/// A poll in which requests wait for changes, with one look at the database for all of them.
///
/// While any request waits, the states of all subjects are read together, some ten times a second
/// and after a signal: a thousand waiting requests ask no more often than one. The looks are
/// authoritative; a signal, which only this instance's own changes give, makes the next look start
/// at once.
actor SharedPoll<Subject: Hashable & Sendable, State: Sendable> {
    /// A function that reads the states of subjects; subjects that do not exist are left out.
    typealias Look = @Sendable ([Subject]) async throws -> [Subject: State]

    private struct Waiter {
        let subject: Subject
        let isNews: @Sendable (State?) -> Bool
        let deadline: ContinuousClock.Instant
        let continuation: CheckedContinuation<Bool, Never>
    }

    /// The pause between two looks, which a signal cuts short.
    private struct Pause {
        var isSignalled = false
        var sleep: Task<Void, Never>?
    }

    private let look: Look
    private let logger: Logger
    /// Whether the last look failed.
    private var isFailing = false
    private var waiters: [Int: Waiter] = [:]
    private var lastNumber = 0
    private var isLooking = false
    private let pause = Mutex(Pause())

    /// Creates a poll; `logger` is told when looks begin to fail, and when they work again.
    init(logger: Logger, look: @escaping Look) {
        self.logger = logger
        self.look = look
    }

    /// Waits until `isNews` is true of the subject's state, or of nil once the subject does not
    /// exist.
    ///
    /// The number of waiting requests is bounded by ``ReaderSlots``.
    ///
    /// - Returns: false when there was no news before `limit` was over, the request was cancelled
    ///   or the service began to shut down.
    func news(
        of subject: Subject,
        within limit: Duration,
        isNews: @escaping @Sendable (State?) -> Bool
    ) async -> Bool {
        guard !Task.isCancelled else { return false }
        lastNumber += 1
        let number = lastNumber
        return await withTaskCancellationOrGracefulShutdownHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Bool, Never>) in
                // Whatever ended the wait may have had the actor before this did, and found nobody.
                guard !Task.isCancelled, !Task.isShuttingDownGracefully else {
                    return continuation.resume(returning: false)
                }
                waiters[number] = Waiter(
                    subject: subject,
                    isNews: isNews,
                    deadline: .now + limit,
                    continuation: continuation
                )
                startLooking()
            }
        } onCancelOrGracefulShutdown: {
            // The handler is not on the actor, and cannot wait for it.
            Task { await self.release(number, withNews: false) }
        }
    }

    /// Signals that something has changed; a signal is cheap, and several in a row count as one.
    nonisolated func signal() {
        pause.withLock { pause in
            pause.isSignalled = true
            pause.sleep?.cancel()
        }
    }

    private func release(_ number: Int, withNews isNews: Bool) {
        waiters.removeValue(forKey: number)?.continuation.resume(returning: isNews)
    }

    private func startLooking() {
        guard !isLooking else { return }
        isLooking = true
        // The looks serve all waiting requests, so they belong to none of them and end with the
        // last.
        Task { await lookOn() }
    }

    private func lookOn() async {
        while !waiters.isEmpty {
            pause.withLock { $0.isSignalled = false }
            let subjects = Set(waiters.values.map(\.subject))
            let found = await lookOnce(at: Array(subjects))
            let now = ContinuousClock.now
            for (number, waiter) in waiters {
                // A waiter that came during the look is not covered by it.
                let isNews =
                    found.map {
                        subjects.contains(waiter.subject) && waiter.isNews($0[waiter.subject])
                    }
                    ?? false
                if isNews || waiter.deadline <= now { release(number, withNews: isNews) }
            }
            await rest()
        }
        isLooking = false
    }

    /// Reads the states of `subjects`, or returns nil while the database is unavailable.
    ///
    /// All requests then keep waiting, until their time is over.
    private func lookOnce(at subjects: [Subject]) async -> [Subject: State]? {
        do {
            let found = try await look(subjects)
            if isFailing { logger.notice("waiting requests see changes again") }
            isFailing = false
            return found
        } catch {
            if !isFailing {
                logger.warning(
                    "waiting requests cannot see changes",
                    metadata: ["error": "\(error)"]
                )
            }
            isFailing = true
            return nil
        }
    }

    /// Waits for the next look.
    ///
    /// The wait is never less than the shortest pause, so that signals cannot make it a loop
    /// without one.
    private func rest() async {
        try? await Task.sleep(for: .milliseconds(10))
        // Random, so that instances do not look in step.
        let length: Duration = .milliseconds(Int.random(in: 70...110))
        let sleep = pause.withLock { pause -> Task<Void, Never>? in
            guard !pause.isSignalled else { return nil }
            let sleep = Task { _ = try? await Task.sleep(for: length) }
            pause.sleep = sleep
            return sleep
        }
        await sleep?.value
        pause.withLock { $0.sleep = nil }
    }
}
