/// The search, by trial, for the number of connections a download is worth; it only decides and
/// carries nothing out.
///
/// Connections are quadrupled as long as that pays off, and finally doubled: added connections stay
/// only if together they bring at least half of their fair share of the former total. So a download
/// whose line is filled by one connection costs its origin three more, for a moment.
struct SegmentRamp {
    typealias Instant = ContinuousClock.Instant

    /// The number of bytes that had arrived at some time.
    private struct Mark {
        let bytes: Int64
        let time: Instant
    }

    /// A trial with more connections than `from`, which brought `rate`.
    private struct Trial {
        let from: Int
        let rate: Double
        /// The factor by which connections were multiplied.
        let factor: Int
    }

    private enum State {
        /// The rate of the connections is being measured, starting at the mark.
        case measuring(Mark)
        /// More connections were asked for at `since`.
        case joining(Trial, since: Instant)
        /// The rate of the added connections is being measured, for the first or second time.
        case trying(Trial, Mark, isSecond: Bool)
        /// The number has been found.
        case settled
    }

    /// The default time over which a rate is measured.
    static let sampleIntervalDefault: Duration = .milliseconds(100)
    /// The number of sample intervals that added connections have to bring their first bytes.
    private static let patience = 20
    private static let factorMax = 4
    private static let factorMin = 2
    /// The minimum gain from more connections, however many there are already.
    private static let gainMin = 0.05

    /// The number of connections there should be.
    private(set) var target: Int
    private var connectionsMax: Int
    private let sampleInterval: Duration
    private var state: State

    /// Creates a search that starts with `connectionsFirst` connections, when there may be more,
    /// and `bytes` of the file.
    init(
        connectionsFirst: Int = 1,
        connectionsMax: Int,
        sampleInterval: Duration,
        bytes: Int64,
        at now: Instant
    ) {
        target = min(connectionsFirst, connectionsMax)
        self.connectionsMax = connectionsMax
        self.sampleInterval = sampleInterval
        state =
            connectionsMax > 1 ? .measuring(Mark(bytes: bytes, time: now)) : .settled
    }

    /// Records that `bytes` of the file are there and that `flowing` connections bring more.
    mutating func note(bytes: Int64, flowing: Int, at now: Instant) {
        let mark = Mark(bytes: bytes, time: now)
        switch state {
        case .measuring(let start):
            guard let rate = rate(since: start, mark) else { return }
            grow(from: max(1, flowing), rate: rate, by: Self.factorMax, at: now)
        case .joining(let trial, let since):
            guard flowing < target else {
                state = .trying(trial, mark, isSecond: false)
                return
            }
            guard now - since >= sampleInterval * Self.patience else { return }
            // If none has come, there was no slot for it, or nothing left to fetch.
            state = flowing > trial.from ? .trying(trial, mark, isSecond: false) : .measuring(mark)
        case .trying(let trial, let start, let isSecond):
            guard let rate = rate(since: start, mark) else { return }
            guard flowing > trial.from else {
                state = .measuring(mark)
                return
            }
            let share = Double(flowing - trial.from) / Double(trial.from)
            if rate >= trial.rate * (1 + max(Self.gainMin, share / 2)) {
                grow(from: flowing, rate: rate, by: Self.factorMax, at: now)
            } else if !isSecond {
                state = .trying(trial, mark, isSecond: true)
            } else if trial.factor > Self.factorMin, flowing > Self.factorMin * trial.from {
                // All of them together are too many; half of them may not be.
                grow(from: trial.from, rate: trial.rate, by: Self.factorMin, at: now)
            } else {
                target = min(trial.from, connectionsMax)
                state = .settled
            }
        case .settled: break
        }
    }

    private mutating func grow(
        from connections: Int,
        rate: Double,
        by factor: Int,
        at now: Instant
    ) {
        guard connections < connectionsMax else {
            target = connectionsMax
            state = .settled
            return
        }
        target = min(factor * connections, connectionsMax)
        state = .joining(Trial(from: connections, rate: rate, factor: factor), since: now)
    }

    /// Limits the search to these connections, because more have failed or were refused.
    mutating func limit(to connections: Int) {
        connectionsMax = max(1, min(connections, connectionsMax))
        target = min(target, connectionsMax)
        if target == connectionsMax { state = .settled }
    }

    /// Returns the rate in bytes a second, once enough time has passed.
    private func rate(since start: Mark, _ mark: Mark) -> Double? {
        let duration = mark.time - start.time
        guard duration >= sampleInterval else { return nil }
        return Double(mark.bytes - start.bytes) / (duration / .seconds(1))
    }
}
