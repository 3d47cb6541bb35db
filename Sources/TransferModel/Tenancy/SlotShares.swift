/// The rule by which holders share a number of slots.
///
/// A lone holder may have all of `slots`. Beside them there is a reserve of an eighth more, and no
/// holder may have more than a fixed multiple of the free slots. So a newcomer finds a free slot
/// however long the others keep theirs, and no holder needs to be known beforehand: A. K. Choudhury
/// and E. L. Hahne, "Dynamic Queue Length Thresholds for Shared-Memory Packet Switches", IEEE/ACM
/// Transactions on Networking 6 (1998). Half of the reserve is for holders that have nothing yet, a
/// slot each.
package struct SlotShares: Sendable {
    /// The slots that a lone holder may have.
    package let slots: Int
    /// The additional slots.
    package let reserve: Int

    /// The slots for holders that have none.
    private var firsts: Int { reserve / 2 }

    /// The number of all slots.
    package var total: Int { slots + reserve }

    /// Creates a rule for `slots` slots, above zero, and an eighth more.
    package init(slots: Int) {
        self.slots = slots
        reserve = max(1, slots / 8)
    }

    /// Returns whether a holder of `own` slots may take another while `taken` are taken in all.
    package func mayTake(own: Int, taken: Int) -> Bool {
        let free = total - taken
        guard own > 0 else { return free > 0 }
        return own * (reserve - firsts) < slots * (free - firsts)
    }
}
