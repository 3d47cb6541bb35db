/// How many lines of a kind are written to the log; the others are counted.
package struct LineBudget: Sendable {
    /// The lines in one ``period``.
    package static let linesMax = 100
    /// The time after which there are lines again.
    package static let period: Duration = .seconds(10)

    private var since: ContinuousClock.Instant?
    private var lines = 0
    /// The number of those that were not written and not told of.
    package private(set) var unwritten = 0

    package init() {}

    /// Returns whether the next line begins a new period.
    package func isOver(at now: ContinuousClock.Instant) -> Bool {
        since.map { now - $0 >= Self.period } ?? true
    }

    /// Adds others that were not written.
    package mutating func add(unwritten count: Int) { unwritten += count }

    /// Takes a line.
    ///
    /// - Returns: the number of those before it that were not written and not told of; nil if
    ///   this one is not to be written.
    package mutating func take(at now: ContinuousClock.Instant) -> Int? {
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
