import TransferStore

/// Something that has to be done again and again, a bounded part at a time.
struct Chore: Sendable {
    /// What follows on a turn.
    enum Next: Sendable {
        /// There is nothing more to do; the next turn comes after the interval.
        case rest
        /// There is more to do.
        case more
        /// The next turn comes then.
        case after(Duration)

        /// ``more`` if there is, else ``rest``.
        init(isMore: Bool) { self = isMore ? .more : .rest }
    }

    /// Does a part of it; a transaction or two, so that no turn is ever too long to come to its end.
    typealias Turn = () async throws(StoreError) -> Next

    /// Named in the log when it fails.
    let name: String
    /// Between two turns; jittered.
    let interval: Duration
    /// Makes what does the turns, with what it has to remember from one to the next.
    let makeTurn: @Sendable () -> Turn

    init(_ name: String, every interval: Duration, making turn: @escaping @Sendable () -> Turn) {
        self.name = name
        self.interval = interval
        makeTurn = turn
    }

    /// One that remembers nothing.
    init(
        _ name: String,
        every interval: Duration,
        _ turn: @escaping @Sendable () async throws(StoreError) -> Next
    ) {
        self.init(name, every: interval) { turn }
    }
}
