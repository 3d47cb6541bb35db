/// How many refusals, or failures, are written to the log; the others are counted.
struct RefusalBudget {
    /// The lines in one ``period``.
    static let linesMax = 100
    static let period: Duration = .seconds(10)

    private var since: ContinuousClock.Instant?
    private var lines = 0
    private var unwritten = 0

    /// Takes a line.
    ///
    /// - Returns: the number of those before it that were not written and not told of; nil if
    ///   this one is not to be written.
    mutating func take(at now: ContinuousClock.Instant) -> Int? {
        if since.map({ now - $0 >= Self.period }) ?? true {
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
