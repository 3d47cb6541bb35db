/// The number of workers in a row that died with a task since it last got further than ever.
///
/// An attempt that ended otherwise killed no worker, and a task that keeps making progress is not
/// the cause of the deaths.
package struct DeathStreak: Equatable, Sendable {
    /// An attempt that ended before the one whose worker died last.
    package struct Predecessor: Sendable {
        /// Whether the attempt's worker died with it.
        package let isLost: Bool
        /// The number of bytes of the file that were present when the attempt ended.
        package let bytesReached: Int64

        package init(isLost: Bool, bytesReached: Int64) {
            self.isLost = isLost
            self.bytesReached = bytesReached
        }
    }

    /// The number of deaths in the streak.
    package let count: Int

    /// Counts back from the last death, which left `bytesReached` of the file; `predecessors` start
    /// with the newest.
    package init(bytesReached: Int64, after predecessors: [Predecessor]) {
        let reached = [bytesReached] + predecessors.prefix(while: \.isLost).map(\.bytesReached)
        var count = 0
        var furthest: Int64 = -1
        for bytes in reached.reversed() {
            count = bytes > furthest ? 1 : count + 1
            furthest = max(furthest, bytes)
        }
        self.count = count
    }
}
