/// The search, by trial, for the number of connections a download is worth; it only decides and
/// carries nothing out.
///
/// Connections are quadrupled as long as that pays off, and finally doubled: added connections stay
/// only if together they bring at least half of their fair share of the former total. So a download
/// whose line is filled by one connection costs its origin three more, for a moment. A client that
/// has said how many there may be is taken at its word: all of them are tried first.
///
/// On a line where a connection takes long to bring its first bytes, the next ones are asked for
/// while the former are still measured: the first ones so early that they come when the measurement
/// ends, further ones as soon as there is little doubt that the former pay off.
struct SegmentRamp {
    typealias Instant = ContinuousClock.Instant

    /// The number of bytes that had arrived at some time.
    private struct Mark {
        let bytes: Int64
        let time: Instant
    }

    /// A trial with more connections than `from`, which brought `rate`; nil if the added ones came
    /// before that could be told.
    private struct Trial {
        let from: Int
        var rate: Double?
        /// The factor by which connections were multiplied.
        let factor: Int
    }

    private enum State {
        /// The rate of the connections is being measured, starting at the mark.
        case measuring(Mark)
        /// More connections were asked for at `since`; until one comes, the rate of the former is
        /// being measured, starting at the mark, unless it is known.
        case joining(Trial, Mark?, since: Instant)
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
    /// The part of a sample interval, and of their fair share, after which added connections are
    /// almost certain to pay off.
    private static let soon = 0.25
    private static let plenty = 0.75
    /// The minimum gain from more connections, however many there are already.
    private static let gainMin = 0.05

    /// The number of connections there should be.
    private(set) var target: Int
    /// The maximum number that there may be.
    private(set) var connectionsMax: Int
    private let sampleInterval: Duration
    /// The time in which a connection brings its first bytes.
    private let latency: Duration
    /// The factor of the first trial.
    private let factorFirst: Int
    private var state: State

    /// Creates a search that starts with `connectionsFirst` connections, when there may be more,
    /// and `bytes` of the file, the first of which took `latency` to come.
    ///
    /// With `triesAll`, the first trial is with all connections.
    init(
        connectionsFirst: Int = 1,
        connectionsMax: Int,
        triesAll: Bool = false,
        sampleInterval: Duration,
        latency: Duration = .zero,
        bytes: Int64,
        at now: Instant
    ) {
        target = min(connectionsFirst, connectionsMax)
        self.connectionsMax = connectionsMax
        self.sampleInterval = sampleInterval
        self.latency = latency
        factorFirst = triesAll ? connectionsMax : Self.factorMax
        state =
            connectionsMax > 1 ? .measuring(Mark(bytes: bytes, time: now)) : .settled
    }

    /// Records that `bytes` of the file are there and that `flowing` connections bring more.
    mutating func note(bytes: Int64, flowing: Int, at now: Instant) {
        let mark = Mark(bytes: bytes, time: now)
        switch state {
        case .measuring(let start):
            guard now - start.time >= sampleInterval - latency else { return }
            grow(from: max(1, flowing), by: factorFirst, measured: start, mark)
        case .joining(var trial, let start, let since):
            if let start, flowing <= trial.from { trial.rate = rate(from: start, to: mark) }
            state = .joining(trial, start, since: since)
            guard flowing < target else {
                state = .trying(trial, mark, isSecond: false)
                return
            }
            guard now - since >= sampleInterval * Self.patience else { return }
            // If none has come, there was no slot for it, or nothing left to fetch.
            state = flowing > trial.from ? .trying(trial, mark, isSecond: false) : .measuring(mark)
        case .trying(let trial, let start, let isSecond):
            judge(trial, since: start, isSecond: isSecond, flowing: flowing, mark)
        case .settled: break
        }
    }

    /// Judges the added connections once they have been measured for long enough.
    private mutating func judge(
        _ trial: Trial,
        since start: Mark,
        isSecond: Bool,
        flowing: Int,
        _ mark: Mark
    ) {
        let duration = mark.time - start.time
        let share = Double(flowing - trial.from) / Double(trial.from)
        let gain = gain(of: rate(from: start, to: mark), over: trial.rate)
        let isPlain =
            flowing > trial.from && duration >= sampleInterval * Self.soon
            && gain >= share * Self.plenty
        guard isPlain || duration >= sampleInterval else { return }
        guard flowing > trial.from else {
            state = .measuring(mark)
            return
        }
        if isPlain || gain >= max(Self.gainMin, share / 2) {
            grow(from: flowing, by: Self.factorMax, measured: start, mark)
        } else if !isSecond {
            state = .trying(trial, mark, isSecond: true)
        } else if trial.factor > Self.factorMin, flowing > Self.factorMin * trial.from {
            // All of them together are too many; half of them may not be.
            grow(Trial(from: trial.from, rate: trial.rate, factor: Self.factorMin), nil, mark)
        } else {
            target = min(trial.from, connectionsMax)
            state = .settled
        }
    }

    /// Asks for more than `connections`, whose rate is being measured, starting at `start`.
    private mutating func grow(
        from connections: Int,
        by factor: Int,
        measured start: Mark,
        _ mark: Mark
    ) {
        let rate = rate(from: start, to: mark)
        grow(Trial(from: connections, rate: rate, factor: factor), start, mark)
    }

    private mutating func grow(_ trial: Trial, _ start: Mark?, _ mark: Mark) {
        guard trial.from < connectionsMax else {
            target = connectionsMax
            state = .settled
            return
        }
        target = min(trial.factor * trial.from, connectionsMax)
        state = .joining(trial, start, since: mark.time)
    }

    /// Limits the search to these connections, because more have failed or were refused.
    mutating func limit(to connections: Int) {
        connectionsMax = max(1, min(connections, connectionsMax))
        target = min(target, connectionsMax)
        if target == connectionsMax { state = .settled }
    }

    /// Returns a rate in bytes a second; nil if the time is so short that a burst would decide.
    private func rate(from start: Mark, to end: Mark) -> Double? {
        let duration = end.time - start.time
        guard duration > .zero, duration >= sampleInterval * Self.soon else { return nil }
        return Double(end.bytes - start.bytes) / (duration / .seconds(1))
    }

    /// Returns the part by which a rate is higher than another one, of which nothing may be known.
    private func gain(of rate: Double?, over former: Double?) -> Double {
        guard let rate, let former, former > 0 else { return .infinity }
        return rate / former - 1
    }
}
