import Curl
import Synchronization
import TransferModel

/// The attempts that this worker is running, and the connections they may have.
///
/// Each attempt is sure of one connection. A download may have additional ones as long as nobody
/// else needs them: a claimed task gets its connection as if these did not exist, and waits at most
/// for one of them to be closed.
final class ActiveAttempts: Sendable {
    private struct State {
        var slots: [Fence: Slot] = [:]
        /// The number of attempts of each task: more than one only while an attempt that was taken
        /// away is ending.
        var countOfTask: [TaskID: Int] = [:]
        var connections: ConnectionSlots
        var numbers = ConnectionNumbers()
        /// The attempts that start as soon as there is a connection for them.
        var waiting = WaitingAttempts()
        /// The attempts that wait for an earlier one of their task to let go of its file.
        var postponed: [TaskID: TaskClaim] = [:]
        /// The ended attempts whose files are still being verified.
        var verifying: Set<Fence> = []
        var isClosed = false
    }

    private let loops: CurlLoops
    private let state: Mutex<State>
    private let place: @Sendable (TaskClaim) -> ConnectionSlots.Place

    /// Creates attempts that run on `loops`, with at most `connectionsMax` connections at once for
    /// one tenant, somewhat more for several together, and at one place as many as `place` returns.
    init(
        on loops: CurlLoops,
        connectionsMax: Int,
        place: @escaping @Sendable (TaskClaim) -> ConnectionSlots.Place
    ) {
        self.loops = loops
        state = Mutex(State(connections: ConnectionSlots(max: connectionsMax)))
        self.place = place
    }

    /// The number of running attempts.
    var count: Int { state.withLock { $0.slots.count } }

    /// The fences of the attempts that are running, of those postponed, and of those being
    /// verified.
    var fences: Set<Fence> {
        state.withLock { state in
            state.verifying.union(state.slots.keys).union(state.postponed.values.map(\.fence))
        }
    }

    /// The attempts that wait for a connection.
    var unconnected: Set<Fence> {
        state.withLock { $0.waiting.fences }
    }

    /// Records that the file of an ending attempt is being verified, until ``verified(_:)``.
    func verifies(_ fence: Fence) { state.withLock { _ = $0.verifying.insert(fence) } }

    /// Records that the outcome of the attempt has been submitted.
    func verified(_ fence: Fence) { state.withLock { _ = $0.verifying.remove(fence) } }

    /// Takes a slot, and starts the attempt as soon as there is a connection for it.
    ///
    /// - Returns: false when the worker is stopping and the attempt must be given back.
    func insert(_ attempt: any TransferAttempt) -> Bool {
        let claim = attempt.claim
        let moves: Moves? = state.withLock { state in
            guard !state.isClosed else { return nil }
            state.slots[claim.fence] = Slot(attempt)
            state.countOfTask[claim.task, default: 0] += 1
            state.waiting.append(attempt)
            return nextMoves(&state)
        }
        moves?.make()
        return moves != nil
    }

    /// Frees the slot of an ended attempt.
    ///
    /// - Returns: the attempt of the same task that was waiting for this, if any.
    func remove(_ claim: TaskClaim) -> TaskClaim? {
        let (postponed, moves): (TaskClaim?, Moves) = state.withLock { state in
            guard let slot = state.slots.removeValue(forKey: claim.fence) else {
                return (nil, Moves())
            }
            let rest = state.countOfTask[claim.task, default: 0] - 1
            state.countOfTask[claim.task] = rest > 0 ? rest : nil
            switch slot.phase {
            case .waiting: state.waiting.remove(claim.fence, of: claim.flow)
            case .begun(let number):
                state.connections.end(claim.fence, place(claim))
                state.numbers.giveBack(number, at: claim.hostKey)
            case .dismissed: break
            }
            return (state.postponed.removeValue(forKey: claim.task), nextMoves(&state))
        }
        moves.make()
        return postponed
    }

    /// Takes an additional connection for an attempt, if nobody else needs it.
    func takeConnection(for fence: Fence) -> Bool {
        state.withLock { state in
            guard let claim = state.slots[fence]?.attempt.claim,
                // Attempts that wait at other hosts do not wait for this host's connections.
                !state.waiting.contains(where: { $0 == claim.hostKey })
            else { return false }
            return state.connections.takeExtra(fence, place(claim))
        }
    }

    /// Gives back what ``takeConnection(for:)`` took.
    func returnConnection(of fence: Fence) {
        let moves = state.withLock { state in
            guard state.slots[fence] != nil else { return Moves() }
            state.connections.returnExtra(fence)
            return nextMoves(&state)
        }
        moves.make()
    }

    /// The calls to make on attempts because connections have become free or are needed.
    private struct Moves {
        var beginning: [(attempt: any TransferAttempt, loop: CurlLoop)] = []
        var giving: [any TransferAttempt] = []

        /// Makes the calls; not under the lock, which the attempts take in turn.
        func make() {
            for attempt in giving { attempt.yieldConnection() }
            for (attempt, loop) in beginning { attempt.begin(on: loop) }
        }
    }

    /// Gives back the attempts that wait at hosts in none of `shards`, and starts others where more
    /// connections are allowed than when they came.
    ///
    /// The former include attempts that came after their hosts had changed hands, for example from
    /// a wait for a credential: they would never get a connection here.
    func beginWaiting(in shards: Set<Shard>) {
        abandon(
            state.withLock { state in
                guard state.waiting.contains(where: { !shards.contains($0.shard) }) else {
                    return []
                }
                return state.waiting.all.filter { !shards.contains($0.claim.hostKey.shard) }
            }
        )
    }

    /// Stops attempts; those that have not started end now, without a connection.
    func abandon(_ attempts: [any TransferAttempt]) {
        for attempt in attempts { attempt.abandon() }
        let moves = state.withLock { state in
            var moves = Moves()
            for attempt in attempts {
                let claim = attempt.claim
                guard case .waiting = state.slots[claim.fence]?.phase else { continue }
                state.waiting.remove(claim.fence, of: claim.flow)
                state.slots[claim.fence]?.phase = .dismissed
                // It makes no request, so it needs no connection to end.
                moves.beginning.append((attempt, loops.loop(to: claim.hostKey)))
            }
            let next = nextMoves(&state)
            moves.beginning += next.beginning
            moves.giving = next.giving
            return moves
        }
        moves.make()
    }

    private func nextMoves(_ state: inout State) -> Moves {
        guard !state.waiting.isEmpty else { return Moves() }
        var moves = Moves()
        let beginning = state.waiting.take(while: { !state.connections.isFull }) { claim in
            state.connections.begin(place(claim))
        }
        for attempt in beginning {
            let claim = attempt.claim
            let number = state.numbers.take(at: claim.hostKey)
            state.slots[claim.fence]?.phase = .begun(number: number)
            let loop = loops.loop(ofConnection: number, to: claim.hostKey)
            moves.beginning.append((attempt, loop))
        }
        guard state.connections.hasExtra, !state.waiting.isEmpty else { return moves }
        moves.giving = state.connections.givers(for: state.waiting.all.map { place($0.claim) })
            .compactMap { state.slots[$0]?.attempt }
        return moves
    }

    /// Asks attempts at hosts in `shards` for all connections beyond their first.
    ///
    /// - Returns: whether no attempt there has additional connections or waits for its first.
    func withdraw(from shards: Set<Shard>) -> Bool {
        let (giving, isDone) = state.withLock { state in
            let givers = state.connections.withdraw { shards.contains($0.shard) }
            let isDone =
                !state.connections.hasExtra { shards.contains($0.shard) }
                && !state.waiting.contains { shards.contains($0.shard) }
            return (givers.compactMap { state.slots[$0]?.attempt }, isDone)
        }
        for attempt in giving { attempt.yieldConnection() }
        return isDone
    }

    /// Postpones an attempt until another one of its task, which was taken away from this worker
    /// and is ending, has let go of the file.
    ///
    /// Only the newest attempt of a task waits: earlier ones were taken away as well.
    func postpone(_ claim: TaskClaim) -> Postponement {
        guard claim.partial != nil else { return .none }
        return state.withLock { state in
            guard state.countOfTask[claim.task] != nil else { return .none }
            return .postponed(inPlaceOf: state.postponed.updateValue(claim, forKey: claim.task))
        }
    }

    /// All attempts that have a slot.
    var all: [any TransferAttempt] { state.withLock { $0.slots.values.map(\.attempt) } }

    /// The attempts with these fences.
    func attempts(_ fences: [Fence]) -> [any TransferAttempt] {
        state.withLock { state in fences.compactMap { state.slots[$0]?.attempt } }
    }

    /// Forgets attempts that were postponed and then taken away.
    func drop(postponed fences: [Fence]) -> [TaskClaim] {
        state.withLock { state in
            let dropped = state.postponed.values.filter { fences.contains($0.fence) }
            for claim in dropped { state.postponed[claim.task] = nil }
            return dropped
        }
    }

    /// Returns all attempts and admits no further one.
    func close() -> [any TransferAttempt] {
        state.withLock { state in
            state.isClosed = true
            return state.slots.values.map(\.attempt)
        }
    }

    /// Returns all attempts and the postponed ones, and forgets the latter.
    func takeAll() -> (running: [any TransferAttempt], postponed: [TaskClaim]) {
        state.withLock { state in
            let postponed = Array(state.postponed.values)
            state.postponed = [:]
            return (state.slots.values.map(\.attempt), postponed)
        }
    }

    /// The outcome of ``postpone(_:)``.
    enum Postponement {
        /// The attempt has nothing to wait for.
        case none
        /// The attempt waits, in place of another one, which is forgotten.
        case postponed(inPlaceOf: TaskClaim?)
    }

    /// The result of ``takeProgress(at:)``.
    struct ProgressReport {
        let progress: [AttemptProgress]
        let resumptions: [Resumption]
        /// The attempts that have exchanged bytes with their own hosts.
        let heard: [TaskClaim]
    }

    /// Returns what has changed in the running attempts since the last call.
    func takeProgress(
        at instant: ContinuousClock.Instant = .now
    ) -> ProgressReport {
        // Nobody who starts or ends an attempt waits for what another one has to say.
        let statuses = all.map { (attempt: $0, status: $0.progress) }
        return state.withLock { state in
            var progress: [AttemptProgress] = []
            var resumptions: [Resumption] = []
            var heard: [TaskClaim] = []
            for (attempt, status) in statuses {
                let fence = attempt.claim.fence
                // The attempt that a wait was for may have taken its place meanwhile.
                guard state.slots[fence]?.attempt === attempt,
                    let news = state.slots[fence]?.takeNews(from: status, at: instant)
                else { continue }
                if let change = news.progress { progress.append(change) }
                if let resumption = news.resumption { resumptions.append(resumption) }
                if let claim = news.heard { heard.append(claim) }
            }
            return ProgressReport(progress: progress, resumptions: resumptions, heard: heard)
        }
    }

    /// Forgets what was recorded as stored, because it was not stored.
    func restore() {
        state.withLock { state in
            for fence in state.slots.keys { state.slots[fence]?.restore() }
        }
    }
}
