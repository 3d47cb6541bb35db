import TransferModel

/// Which revocations are done with; decides, and does nothing itself.
///
/// One of an attempt that is not here is kept for a while: the claim that has made it may be
/// answered only later, and the attempt would then begin although it was taken away.
struct RevocationView {
    /// How long the answer to a claim is on its way at most.
    static let answerMax: Duration = .seconds(5)

    /// Of those that are still there: attempts that were here.
    private var known: Set<Fence> = []
    /// When one was seen first whose attempt was not here.
    private var missing: [Fence: ContinuousClock.Instant] = [:]

    /// All revocations there are; of their attempts those in `running` run here, and those in
    /// `dropped` have just been ended before they began.
    ///
    /// - Returns: those whose attempts do not run any more.
    mutating func ended(
        _ revoked: [Fence],
        running: Set<Fence>,
        dropped: Set<Fence> = [],
        at now: ContinuousClock.Instant
    ) -> [Fence] {
        let all = Set(revoked)
        known = known.union(running).union(dropped).intersection(all)
        missing = missing.filter { all.contains($0.key) }
        return revoked.filter { fence in
            guard !running.contains(fence) else { return false }
            guard !known.contains(fence) else { return true }
            let since = missing[fence] ?? now
            missing[fence] = since
            return now - since >= Self.answerMax
        }
    }
}
