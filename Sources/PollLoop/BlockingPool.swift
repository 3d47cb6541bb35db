import Synchronization

/// A few threads for calls that block, shared fairly by their users.
///
/// Every call belongs to a key. Keys take turns, and no key has more than a fixed multiple of the
/// threads that are free (dynamic thresholds, Choudhury and Hahne 1998): the calls of some keys may
/// hang as long as they like, and the last thread is for a key that has none. The parts of a key
/// share what it may have in the same way. The queues have no limit of their own: callers add only
/// as many calls as they have slots.
package final class BlockingPool<Key: Hashable & Sendable>: Sendable {
    private typealias Work = @Sendable () -> Void

    /// The work of one key, by its parts.
    private struct Use {
        /// The number of threads that work for each part; none of the counts is zero.
        var busy: [Key: Int] = [:]
        /// The waiting work of each part, the oldest first; none of the queues is empty.
        var waiting: [Key: [Work]] = [:]
        /// The parts of `waiting`, in the order of their turns.
        var turns: [Key] = []

        var threads: Int { busy.values.reduce(0, +) }
        /// The number of calls that wait.
        var calls: Int { waiting.values.reduce(0) { $0 + $1.count } }

        mutating func add(_ work: @escaping Work, of part: Key) {
            if waiting[part] == nil { turns.append(part) }
            waiting[part, default: []].append(work)
        }

        /// Takes the oldest work of the part at a place in `turns`, which then works.
        mutating func take(at place: Int) -> (part: Key, work: Work)? {
            let part = turns.remove(at: place)
            guard let work = waiting[part]?.removeFirst() else { return nil }
            if waiting[part]?.isEmpty ?? true {
                waiting[part] = nil
            } else {
                turns.append(part)
            }
            busy[part, default: 0] += 1
            return (part, work)
        }

        mutating func end(of part: Key) {
            let rest = busy[part, default: 0] - 1
            busy[part] = rest > 0 ? rest : nil
        }
    }

    private struct State {
        /// The threads without work.
        var idle: [PollLoop]
        var threads: [PollLoop]
        /// The number of threads that work.
        var busy = 0
        /// The keys with work, whether it waits or not.
        var uses: [Key: Use] = [:]
        /// The keys with waiting work, in the order of their turns.
        var turns: [Key] = []

        mutating func end(_ turn: Turn) {
            busy -= 1
            uses[turn.key]?.end(of: turn.part)
            guard let use = uses[turn.key], use.busy.isEmpty, use.turns.isEmpty else { return }
            uses[turn.key] = nil
        }
    }

    private struct Turn {
        let key: Key
        let part: Key
        let work: Work
    }

    private struct Start {
        let thread: PollLoop
        let turn: Turn
    }

    private let name: String
    private let threadsMax: Int
    private let perKeyMax: Int
    private let perPartMax: Int?
    private let state: Mutex<State>

    /// Starts the first thread; further ones follow when they are needed.
    ///
    /// - Parameters:
    ///   - name: the threads' name in tools such as `top -H`.
    ///   - threadsMax: threads at most, above zero.
    ///   - perKeyMax: threads that one key may have while no other has any, at most `threadsMax`;
    ///     three quarters by default. Beside others it may have the same multiple of what is free.
    ///   - perPartMax: of these, the threads that one part of a key may have while no other part
    ///     has any, at most `perKeyMax`; nil for parts that only take turns.
    /// - Throws: ``PollLoopError`` when the process has no descriptor or thread left.
    package init(
        name: String,
        threadsMax: Int,
        perKeyMax: Int? = nil,
        perPartMax: Int? = nil
    ) throws(PollLoopError) {
        precondition(threadsMax > 0, "work needs a thread")
        self.name = name
        self.threadsMax = threadsMax
        let perKeyMax = perKeyMax ?? max(1, threadsMax - max(1, threadsMax / 4))
        precondition((1...threadsMax).contains(perKeyMax), "a key has some of the threads")
        self.perKeyMax = perKeyMax
        precondition((1...perKeyMax).contains(perPartMax ?? 1), "a part has some of the key's")
        self.perPartMax = perPartMax
        let first = try PollLoop(name: name)
        state = Mutex(State(idle: [first], threads: [first]))
    }

    /// Stops the threads, which still do the waiting work.
    deinit { for thread in state.withLock({ $0.threads }) { thread.stop() } }

    /// The numbers of threads, of threads that work, and of calls that wait for one; for tests.
    package var load: (threads: Int, busy: Int, waiting: Int) {
        state.withLock { state in
            let waiting = state.uses.values.reduce(0) { $0 + $1.calls }
            return (state.threads.count, state.busy, waiting)
        }
    }

    /// Runs `work` on a thread of the pool when it is the turn of `key`, and of its `part` if there
    /// are several; callable from any thread.
    package func run(
        for key: Key,
        part: Key? = nil,
        _ work: @escaping @Sendable () -> Void
    ) {
        let starts: [Start] = state.withLock { state in
            if state.uses[key]?.turns.isEmpty ?? true { state.turns.append(key) }
            state.uses[key, default: Use()].add(work, of: part ?? key)
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
                state.end(current)
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
        while allowedPlace(state) != nil, let thread = idleThread(&state),
            let turn = nextTurn(&state)
        {
            starts.append(Start(thread: thread, turn: turn))
        }
        return starts
    }

    /// Returns the places in `turns` of the first key that may have another thread, and of its
    /// first part that may.
    private func allowedPlace(_ state: State) -> (key: Int, part: Int)? {
        let free = threadsMax - state.busy
        guard free > 0 else { return nil }
        for (place, key) in state.turns.enumerated() {
            guard let use = state.uses[key] else { continue }
            let room = room(beside: use.threads, free: free)
            guard room > 0 else { continue }
            let part = use.turns.firstIndex { part in
                guard let perPartMax else { return true }
                let busy = use.busy[part, default: 0]
                return Self.mayTake(own: busy, free: room, most: perPartMax, of: perKeyMax)
            }
            if let part { return (place, part) }
        }
        return nil
    }

    /// Returns how many more threads a key may have that has `busy`, if no other takes any.
    private func room(beside busy: Int, free: Int) -> Int {
        var room = 0
        while Self.mayTake(own: busy + room, free: free - room, most: perKeyMax, of: threadsMax) {
            room += 1
        }
        return room
    }

    /// Returns whether one that has `own` may take another, if alone it may have `most` of `all`.
    private static func mayTake(own: Int, free: Int, most: Int, of all: Int) -> Bool {
        guard own > 0 else { return free > 0 }
        return free > 1 && own * (all - most) < most * free
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

    /// Returns the oldest work of the part whose turn it is, of the key whose turn it is.
    private func nextTurn(_ state: inout State) -> Turn? {
        guard let place = allowedPlace(state) else { return nil }
        let key = state.turns.remove(at: place.key)
        guard let (part, work) = state.uses[key]?.take(at: place.part) else { return nil }
        if state.uses[key]?.turns.isEmpty == false { state.turns.append(key) }
        state.busy += 1
        return Turn(key: key, part: part, work: work)
    }
}
