/// Who has how many of the slots that ``SlotShares`` shares out.
package struct SlotLedger<Holder: Hashable & Sendable>: Sendable {
    private let shares: SlotShares
    private let ownMax: Int
    private var counts: [Holder: Int] = [:]
    private var taken = 0

    /// - Parameters:
    ///   - slots: what one alone may have.
    ///   - ownMax: what one may have in any case.
    package init(slots: Int, ownMax: Int = .max) {
        shares = SlotShares(slots: slots)
        self.ownMax = ownMax
    }

    /// How many nobody has.
    package var freeCount: Int { shares.total - taken }

    /// How many one has.
    package func count(of holder: Holder) -> Int { counts[holder, default: 0] }

    /// Takes a slot.
    ///
    /// - Returns: false when there is none for `holder` now.
    package mutating func take(for holder: Holder) -> Bool {
        let own = count(of: holder)
        guard own < ownMax, shares.mayTake(own: own, taken: taken) else { return false }
        counts[holder] = own + 1
        taken += 1
        return true
    }

    /// Gives back a slot that was taken.
    package mutating func giveBack(for holder: Holder) {
        let own = count(of: holder)
        precondition(own > 0, "a slot that was not taken was given back")
        counts[holder] = own > 1 ? own - 1 : nil
        taken -= 1
    }
}
