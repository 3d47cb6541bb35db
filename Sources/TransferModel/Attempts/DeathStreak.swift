/// How many workers in a row have died with a task since it last got further than ever.
///
/// Attempts that ended otherwise kill nobody, and a task that comes to its end bit by bit is not the
/// cause of deaths.
package struct DeathStreak: Equatable, Sendable {
    /// An attempt that ended before the one whose worker died last.
    package struct Predecessor: Sendable {
        /// Whether its worker died with it.
        package let isLost: Bool
        /// How many bytes of the file were there at its end.
        package let bytesReached: Int64

        package init(isLost: Bool, bytesReached: Int64) {
            self.isLost = isLost
            self.bytesReached = bytesReached
        }
    }

    package let count: Int

    /// Begins with the last death, which left `bytesReached` of the file; `predecessors` begin with
    /// the newest.
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
