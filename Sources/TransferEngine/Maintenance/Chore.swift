import TransferStore

/// A job that has to be done repeatedly, a bounded part at a time.
struct Chore: Sendable {
    /// The next step after a turn.
    enum Next: Sendable {
        /// There is nothing more to do; the next turn comes after the interval.
        case rest
        /// There is more to do.
        case more
        /// The next turn comes after this time.
        case after(Duration)

        /// ``more`` if there is, else ``rest``.
        init(isMore: Bool) { self = isMore ? .more : .rest }
    }

    /// A function that does a part of the job: a transaction or two, so that no turn takes too
    /// long.
    typealias Turn = () async throws(StoreError) -> Next

    /// The name in the log when it fails.
    let name: String
    /// The interval between two turns; jittered.
    let interval: Duration
    /// A signal that ends a pause between two turns; nil for none.
    let signal: WakeSignal?
    /// Makes the function that does the turns, with the state that it keeps from one to the next.
    let makeTurn: @Sendable () -> Turn

    init(
        _ name: String,
        every interval: Duration,
        orAfter signal: WakeSignal? = nil,
        making turn: @escaping @Sendable () -> Turn
    ) {
        self.name = name
        self.interval = interval
        self.signal = signal
        makeTurn = turn
    }

    /// Creates a chore that remembers nothing.
    init(
        _ name: String,
        every interval: Duration,
        orAfter signal: WakeSignal? = nil,
        _ turn: @escaping @Sendable () async throws(StoreError) -> Next
    ) {
        self.init(name, every: interval, orAfter: signal) { turn }
    }

    /// Creates a chore that remembers nothing, and does all there is to do in each turn.
    init(
        _ name: String,
        every interval: Duration,
        all turn: @escaping @Sendable () async throws(StoreError) -> Void
    ) {
        self.init(name, every: interval) { () throws(StoreError) in
            try await turn()
            return .rest
        }
    }
}
