import TransferModel

/// Which of this worker's attempts in the database it does not know of, because the answer that
/// told of them was lost with its connection; decides, and does nothing itself.
///
/// What is just being stored is known to the publisher alone. When that has nothing to do, one look
/// after the other is enough; under load it takes as many, and as long, as no end of an attempt
/// needs to be stored. Should one be at work all the same, its fence is refused and the task runs
/// again.
struct ForgottenAttempts {
    private static let looksMin = 10
    private static let ageMin: Duration = .seconds(60)
    /// Looks take this part of the time at most: under an old snapshot they read all that the worker
    /// has run since.
    private static let shareMax = 0.01

    private struct Sighting {
        var looks = 0
        /// How many of the last ones, one after the other, found that nothing was being stored.
        var idleLooks = 0
        let since: ContinuousClock.Instant
    }

    private var sightings: [Fence: Sighting] = [:]
    /// When another look is due.
    private(set) var dueAt: ContinuousClock.Instant?

    /// Takes note of attempts that are in the database and not here, after a look that began at
    /// `start`.
    ///
    /// - Returns: those that were forgotten.
    mutating func look(
        _ unknown: [Fence],
        isAnyBeingStored: Bool,
        from start: ContinuousClock.Instant,
        at now: ContinuousClock.Instant
    ) -> Set<Fence> {
        dueAt = now + (now - start).rest(forShare: Self.shareMax)
        var next: [Fence: Sighting] = [:]
        var forgotten: Set<Fence> = []
        for fence in unknown {
            var sighting = sightings[fence] ?? Sighting(since: now)
            sighting.looks += 1
            sighting.idleLooks = isAnyBeingStored ? 0 : sighting.idleLooks + 1
            let isForgotten =
                sighting.idleLooks > 1
                || sighting.looks > Self.looksMin && now - sighting.since >= Self.ageMin
            if isForgotten { forgotten.insert(fence) } else { next[fence] = sighting }
        }
        sightings = next
        return forgotten
    }
}
