/// A count of the slots that each holder has of those that ``SlotShares`` divides.
package struct SlotLedger<Holder: Hashable & Sendable>: Sendable {
    private let shares: SlotShares
    private let ownMax: Int
    private var counts: [Holder: Int] = [:]
    private var taken = 0

    /// - Parameters:
    ///   - slots: the slots that a lone holder may have.
    ///   - ownMax: the slots that a holder may have in any case.
    package init(slots: Int, ownMax: Int = .max) {
        shares = SlotShares(slots: slots)
        self.ownMax = ownMax
    }

    /// The number of slots that nobody has.
    package var freeCount: Int { shares.total - taken }

    /// Returns the number of slots that `holder` has.
    package func count(of holder: Holder) -> Int { counts[holder, default: 0] }

    /// Takes a slot.
    ///
    /// - Returns: false when there is no slot for `holder` now.
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
