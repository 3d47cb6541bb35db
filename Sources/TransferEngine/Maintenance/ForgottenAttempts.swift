import TransferModel

/// The search for this worker's attempts in the database that it does not know because the answer
/// announcing them was lost with its connection, and for those that it runs and the database does
/// not have; it only decides and carries nothing out.
///
/// Attempts whose end is just being stored are known to the completer alone. When the completer has
/// nothing to do, two looks in a row are enough; under load it takes more looks and more time than
/// storing any end needs. If an attempt is at work all the same, its fence is refused and the task
/// runs again.
struct ForgottenAttempts {
    private static let looksMin = 10
    private static let ageMin: Duration = .seconds(60)
    /// The largest share of the time that looks take; under an old snapshot they read all that the
    /// worker has run since.
    private static let shareMax = 0.01
    /// The longest rest after a look, however long the look took.
    ///
    /// A look may have been slow only because it had to wait, and what was forgotten waits for two.
    private static let restMax: Duration = .seconds(30)

    private struct Sighting {
        var looks = 0
        /// The number of the most recent consecutive looks that found nothing being stored.
        var idleLooks = 0
        let since: ContinuousClock.Instant
    }

    private var sightings: [Fence: Sighting] = [:]
    /// The attempts that ran here at the last look and were not in the database.
    private var missing: Set<Fence> = []
    /// The time at which another look is due.
    private(set) var dueAt: ContinuousClock.Instant?

    /// Records attempts that ran here before a look, and that it did not find in the database.
    ///
    /// One look is not enough: the end of an attempt may be in the database a moment before its
    /// slot is free here.
    ///
    /// - Returns: those that the look before did not find either.
    mutating func look(missing: Set<Fence>) -> Set<Fence> {
        defer { self.missing = missing }
        return missing.intersection(self.missing)
    }

    /// Records attempts that are in the database but not here, after a look that began at `start`.
    ///
    /// - Returns: the attempts that were forgotten.
    mutating func look(
        _ unknown: [Fence],
        isAnyBeingStored: Bool,
        from start: ContinuousClock.Instant,
        at now: ContinuousClock.Instant
    ) -> Set<Fence> {
        dueAt = now + min((now - start).rest(forShare: Self.shareMax), Self.restMax)
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
