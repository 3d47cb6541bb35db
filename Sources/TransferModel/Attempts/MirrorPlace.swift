/// The place of a task on its tour of the URL and the mirrors, as it is stored; see ``MirrorTour``.
package struct MirrorPlace: Equatable, Sendable {
    /// The rank of the URL that is asked.
    package var rank = 0
    /// The ranks of those that are not asked again.
    package var givenUp: Set<Int> = []
    /// Whether no host that was asked in this round could be reached.
    package var isOffline = true
    /// The rest of the longest wait that a server of this round has asked for.
    package var rest: Duration = .zero

    /// Creates a place at the start of a round; without arguments, that of a task that has not left
    /// its URL.
    package init(rank: Int = 0, givenUp: Set<Int> = []) {
        self.rank = rank
        self.givenUp = givenUp
    }
}
