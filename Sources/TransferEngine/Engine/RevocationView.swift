import TransferModel

/// The view of which revocations are finished; it only decides and carries nothing out.
///
/// The revocation of an attempt that is not here is kept for a while: the answer to the claim that
/// created the attempt may arrive later, and the attempt would then start although it was taken
/// away.
struct RevocationView {
    /// The longest time for which the answer to a claim is on its way.
    static let answerMax: Duration = .seconds(5)

    /// The attempts that were here and whose revocations still exist.
    private var known: Set<Fence> = []
    /// The time when each revocation was first seen without its attempt here.
    private var missing: [Fence: ContinuousClock.Instant] = [:]

    /// Takes all existing revocations; of their attempts, those in `running` run here, and those in
    /// `dropped` have just been ended before they started.
    ///
    /// - Returns: the revocations whose attempts no longer run.
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
