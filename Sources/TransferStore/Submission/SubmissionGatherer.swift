import Postgres
import Synchronization

/// Lets concurrent submissions share a transaction, as ``SubmissionBatcher`` decides.
final class SubmissionGatherer: Sendable {
    typealias Outcome = Result<SubmitResult, StoreError>

    /// A request, and the caller that waits for its answer.
    struct Member: Sendable {
        let request: SubmissionRequest
        private let continuation: CheckedContinuation<Outcome, Never>

        init(_ request: SubmissionRequest, _ continuation: CheckedContinuation<Outcome, Never>) {
            self.request = request
            self.continuation = continuation
        }

        /// Resumes the caller with its answer; called exactly once.
        func answer(_ outcome: Outcome) { continuation.resume(returning: outcome) }
    }

    private enum Effect: Sendable {
        case send([Member])
        case refuse(Member, StoreError)
    }

    private struct State: ~Copyable {
        var machine: SubmissionBatcher<SessionKey>
        var members: [Int: Member] = [:]
        var requestCount = 0
        /// The time at which the timer fires.
        var timerInstant: ContinuousClock.Instant?
        var timer: Task<Void, Never>?

        mutating func effect(of action: SubmissionBatcher<SessionKey>.Action) -> Effect? {
            switch action {
            case .send(let ids):
                .send(ids.compactMap { members.removeValue(forKey: $0) })
            case .refuse(let id, let refusal):
                members.removeValue(forKey: id).map { .refuse($0, refusal.error) }
            }
        }
    }

    private let bounds: SubmissionGroupBounds
    private let state: Mutex<State>

    init(bounds: SubmissionGroupBounds = SubmissionGroupBounds()) {
        self.bounds = bounds
        state = Mutex(State(machine: SubmissionBatcher(bounds: bounds)))
    }

    /// Returns whether `request` is small enough to benefit from a shared commit.
    ///
    /// A request with resume data has its own, because missing resume data would keep the others
    /// from being stored.
    func takes(_ request: SubmissionRequest) -> Bool {
        request.size.fits(in: bounds.requestSizeMax) && !request.namesResumeData
    }

    /// The number of requests that wait for a group now; for tests.
    var waitingCount: Int { state.withLock { $0.machine.waitingCount } }

    /// Stores `request` together with others.
    ///
    /// Cancelling the task ends the wait for a group, but not what was sent.
    func submit(
        _ request: SubmissionRequest,
        to store: SubmissionStore
    ) async throws(StoreError) -> SubmitResult {
        let id = state.withLock { state in
            state.requestCount += 1
            return state.requestCount
        }
        let outcome = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                perform(on: store) { state, now in
                    state.members[id] = Member(request, continuation)
                    let actions = state.machine.arrived(
                        id,
                        to: request.session,
                        size: request.size,
                        now: now
                    )
                    // Checked under the lock: a cancellation from now on finds the request in the
                    // batcher.
                    return Task.isCancelled ? actions + state.machine.cancel(id) : actions
                }
            }
        } onCancel: {
            perform(on: store) { state, _ in state.machine.cancel(id) }
        }
        return try outcome.get()
    }

    /// Records that the requests to `sessions` have their answers; the remaining requests are
    /// stored one by one.
    func groupEnded(freeing sessions: Set<SessionKey>, on store: SubmissionStore) {
        perform(on: store) { $0.machine.groupEnded(freeing: sessions, now: $1) }
    }

    func sessionEnded(_ session: SessionKey, on store: SubmissionStore) {
        perform(on: store) { $0.machine.sessionEnded(session, now: $1) }
    }

    /// Applies `event` to the batcher, then performs its actions outside of the lock.
    private func perform(
        on store: SubmissionStore,
        _ event: (inout State, ContinuousClock.Instant) -> [SubmissionBatcher<SessionKey>.Action]
    ) {
        let effects = state.withLock { state in
            let actions = event(&state, .now)
            armTimer(&state, store)
            return actions.compactMap { state.effect(of: $0) }
        }
        for effect in effects {
            switch effect {
            case .send(let group):
                // Not structured: the group belongs to several callers, and outlives each of them.
                Task { await store.submit(group, in: self) }
            case .refuse(let member, let error):
                member.answer(.failure(error))
            }
        }
    }

    /// Arms the one timer of all waiting requests; a timer that fires early is armed again for the
    /// requests that wait then.
    private func armTimer(_ state: inout State, _ store: SubmissionStore) {
        guard let instant = state.machine.nextInstant else { return }
        if let timerInstant = state.timerInstant, timerInstant <= instant { return }
        state.timer?.cancel()
        state.timerInstant = instant
        // Not structured: the timer belongs to all requests that wait when it fires.
        state.timer = Task { [weak self] in
            do {
                try await Task.sleep(until: instant, clock: .continuous)
            } catch {
                // Another timer is armed for an earlier time.
                return
            }
            self?.perform(on: store) { state, now in
                state.timerInstant = nil
                return state.machine.tick(now: now)
            }
        }
    }
}

extension SubmissionBatcher.Refusal {
    fileprivate var error: StoreError {
        switch self {
        case .exhausted:
            StoreError(PostgresError(unsent: .poolExhausted, "too many submissions wait"))
        case .cancelled:
            StoreError(PostgresError(unsent: .cancelled, "the task was cancelled"))
        }
    }
}
