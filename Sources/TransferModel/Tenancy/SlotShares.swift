/// How many of a number of slots each of those that share them may have.
///
/// Whoever is alone may have all of `slots`. Beside them are some more, an eighth, and nobody may
/// have more than a fixed multiple of what is free: so something is free for whoever comes, however
/// long the others keep what they have, and nobody needs to be known beforehand. A. K. Choudhury and
/// E. L. Hahne, "Dynamic Queue Length Thresholds for Shared-Memory Packet Switches", IEEE/ACM
/// Transactions on Networking 6 (1998). Half of what is beside them is for those that have nothing
/// yet, a slot each.
package struct SlotShares: Sendable {
    /// What one alone may have.
    package let slots: Int
    /// Slots beside those.
    package let reserve: Int

    /// Slots for those that have none.
    private var firsts: Int { reserve / 2 }

    /// All that there are.
    package var total: Int { slots + reserve }

    /// Shares of so many slots, above zero, and an eighth more.
    package init(slots: Int) {
        self.slots = slots
        reserve = max(1, slots / 8)
    }

    /// Whether one that has `own` slots may take another, while all together have `taken`.
    package func mayTake(own: Int, taken: Int) -> Bool {
        let free = total - taken
        guard own > 0 else { return free > 0 }
        return own * (reserve - firsts) < slots * (free - firsts)
    }
}
