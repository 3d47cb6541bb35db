import Synchronization

/// A few threads for calls that block, shared fairly by their users.
///
/// Every call belongs to a key. Keys take turns, and no key has more than a fixed multiple of the
/// threads that are free (dynamic thresholds, Choudhury and Hahne 1998): the calls of some keys may
/// hang as long as they like, and the last thread is for a key that has none. The queues have no
/// limit of their own: callers add only as many calls as they have slots.
package final class BlockingPool<Key: Hashable & Sendable>: Sendable {
    private typealias Work = @Sendable () -> Void

    private struct State {
        /// The threads without work.
        var idle: [PollLoop]
        var threads: [PollLoop]
        /// The number of threads that work for each key; none of the counts is zero.
        var busy: [Key: Int] = [:]
        /// The waiting work of each key, the oldest first; none of the queues is empty.
        var waiting: [Key: [Work]] = [:]
        /// The keys of `waiting`, in the order of their turns.
        var turns: [Key] = []
    }

    private struct Turn {
        let key: Key
        let work: Work
    }

    private struct Start {
        let thread: PollLoop
        let turn: Turn
    }

    private let name: String
    private let threadsMax: Int
    private let perKeyMax: Int
    private let state: Mutex<State>

    /// Starts the first thread; further ones follow when they are needed.
    ///
    /// - Parameters:
    ///   - name: the threads' name in tools such as `top -H`.
    ///   - threadsMax: threads at most, above zero.
    ///   - perKeyMax: threads that one key may have while no other has any, at most `threadsMax`;
    ///     three quarters by default. Beside others it may have the same multiple of what is free.
    /// - Throws: ``PollLoopError`` when the process has no descriptor or thread left.
    package init(
        name: String,
        threadsMax: Int,
        perKeyMax: Int? = nil
    ) throws(PollLoopError) {
        precondition(threadsMax > 0, "work needs a thread")
        self.name = name
        self.threadsMax = threadsMax
        let perKeyMax = perKeyMax ?? max(1, threadsMax - max(1, threadsMax / 4))
        precondition((1...threadsMax).contains(perKeyMax), "a key has some of the threads")
        self.perKeyMax = perKeyMax
        let first = try PollLoop(name: name)
        state = Mutex(State(idle: [first], threads: [first]))
    }

    /// Stops the threads, which still do the waiting work.
    deinit { for thread in state.withLock({ $0.threads }) { thread.stop() } }

    /// The numbers of threads, of threads that work, and of calls that wait for one.
    package var load: (threads: Int, busy: Int, waiting: Int) {
        state.withLock { state in
            (
                state.threads.count, state.busy.values.reduce(0, +),
                state.waiting.values.reduce(0) { $0 + $1.count }
            )
        }
    }

    /// Runs `work` on a thread of the pool when it is the turn of `key`; callable from any thread.
    package func run(for key: Key, _ work: @escaping @Sendable () -> Void) {
        let starts: [Start] = state.withLock { state in
            if state.waiting[key] == nil { state.turns.append(key) }
            state.waiting[key, default: []].append(work)
            return takeStarts(&state)
        }
        begin(starts)
    }

    private func begin(_ starts: [Start]) {
        for start in starts { start.thread.execute { self.work(start.turn, on: start.thread) } }
    }

    private func work(_ first: Turn, on thread: PollLoop) {
        var turn: Turn? = first
        while let current = turn {
            current.work()
            let (next, others): (Turn?, [Start]) = state.withLock { state in
                let rest = state.busy[current.key, default: 0] - 1
                state.busy[current.key] = rest > 0 ? rest : nil
                let next = nextTurn(&state)
                if next == nil { state.idle.append(thread) }
                // If this thread works for another key next, its own key may have a further one.
                return (next, takeStarts(&state))
            }
            begin(others)
            turn = next
        }
    }

    /// Takes all work that may begin on threads that do nothing.
    private func takeStarts(_ state: inout State) -> [Start] {
        var starts: [Start] = []
        while allowedIndex(state) != nil, let thread = idleThread(&state),
            let turn = nextTurn(&state)
        {
            starts.append(Start(thread: thread, turn: turn))
        }
        return starts
    }

    /// Returns the place in `turns` of the first key that may have another thread.
    private func allowedIndex(_ state: State) -> Int? {
        let free = threadsMax - state.busy.values.reduce(0, +)
        guard free > 0 else { return nil }
        return state.turns.firstIndex { key in
            guard let busy = state.busy[key] else { return true }
            return free > 1 && busy * (threadsMax - perKeyMax) < perKeyMax * free
        }
    }

    /// Returns a thread that does nothing, which may be a new one.
    private func idleThread(_ state: inout State) -> PollLoop? {
        if let thread = state.idle.popLast() { return thread }
        // Without another thread, the work waits for one of the existing ones.
        guard state.threads.count < threadsMax, let thread = try? PollLoop(name: name) else {
            return nil
        }
        state.threads.append(thread)
        return thread
    }

    /// Returns the oldest work of the key whose turn it is.
    private func nextTurn(_ state: inout State) -> Turn? {
        guard let index = allowedIndex(state) else { return nil }
        let key = state.turns.remove(at: index)
        guard let work = state.waiting[key]?.removeFirst() else { return nil }
        if state.waiting[key]?.isEmpty ?? true {
            state.waiting[key] = nil
        } else {
            state.turns.append(key)
        }
        state.busy[key, default: 0] += 1
        return Turn(key: key, work: work)
    }
}
