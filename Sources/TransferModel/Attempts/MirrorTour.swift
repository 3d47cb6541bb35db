/// The way of a download through its URL and its mirrors; it only decides and carries nothing out.
///
/// The URLs have ranks: the task's own has 0, its mirrors follow in the order in which the client
/// has named them. They are asked one after the other, each as soon as the one before has failed,
/// and after the last one again from the first, after a wait. Such a round is what the retry policy
/// counts as one attempt.
package struct MirrorTour: Equatable, Sendable {
    /// The hosts by rank; nil where the URL cannot be parsed.
    package let hosts: [HostKey?]
    package let place: MirrorPlace

    package init(hosts: [HostKey?], place: MirrorPlace) {
        self.hosts = hosts
        self.place = place
    }

    /// The consequence of a failed attempt.
    package enum Step: Equatable, Sendable {
        case move(MirrorMove)
        /// No URL is left.
        case giveUp
    }

    /// Returns what follows a failure of attempt `number` that says something about the URL that
    /// was asked.
    ///
    /// A URL whose failure would end a task without mirrors is not asked again. The task fails with
    /// the last one that is left. `connectivityWait` is how long a task without mirrors would wait
    /// for the host, nil if it would not; no wait outlasts `remaining`, the rest of the task's
    /// time.
    package func step(
        after failure: TransferFailure,
        attempt number: Int,
        in kind: Session.Kind,
        by policy: RetryPolicy,
        connectivityWait: Duration?,
        remaining: Duration,
        chance: Double
    ) -> Step {
        guard remaining > .zero else { return .giveUp }
        let decision = policy.decision(
            after: failure,
            attempt: number,
            in: kind,
            remaining: remaining,
            chance: chance
        )
        var next = place
        next.isOffline = place.isOffline && connectivityWait != nil
        next.rest = max(place.rest, min(failure.retryAfter ?? .zero, policy.delayMax))
        if decision == .giveUp, connectivityWait == nil { next.givenUp.insert(place.rank) }
        let left = hosts.indices.filter { hosts[$0] != nil && !next.givenUp.contains($0) }
        if let rank = left.first(where: { $0 > place.rank }) {
            next.rank = rank
            return move(to: next, after: .nothing)
        }
        guard let rank = left.first else { return .giveUp }
        let wait: MirrorMove.Wait
        if next.isOffline, let connectivityWait {
            wait = .connectivity(connectivityWait)
        } else {
            let delay = policy.delay(
                afterAttempt: number,
                asked: next.rest,
                remaining: remaining,
                chance: chance
            )
            guard delay < remaining else { return .giveUp }
            wait = .retry(delay)
        }
        next = MirrorPlace(rank: rank, givenUp: next.givenUp)
        return move(to: next, after: wait)
    }

    private func move(to next: MirrorPlace, after wait: MirrorMove.Wait) -> Step {
        hosts[next.rank].map { .move(MirrorMove(place: next, host: $0, wait: wait)) } ?? .giveUp
    }
}
