/// How many refusals, or failures, are written to the log; the others are counted.
struct RefusalBudget {
    /// The lines in one ``period``.
    static let linesMax = 100
    static let period: Duration = .seconds(10)

    private var since: ContinuousClock.Instant?
    private var lines = 0
    /// The number of those that were not written and not told of.
    private(set) var unwritten = 0

    /// Returns whether the next line begins a new period.
    func isOver(at now: ContinuousClock.Instant) -> Bool {
        since.map { now - $0 >= Self.period } ?? true
    }

    /// Adds others that were not written.
    mutating func add(unwritten count: Int) { unwritten += count }

    /// Takes a line.
    ///
    /// - Returns: the number of those before it that were not written and not told of; nil if
    ///   this one is not to be written.
    mutating func take(at now: ContinuousClock.Instant) -> Int? {
        if isOver(at: now) {
            since = now
            lines = 0
        }
        guard lines < Self.linesMax else {
            unwritten += 1
            return nil
        }
        lines += 1
        defer { unwritten = 0 }
        return unwritten
    }
}
