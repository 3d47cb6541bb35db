/// Decides which submissions share a commit, and when it begins; does nothing itself.
///
/// What comes while nothing is under way is sent at once. What comes later is sent as soon as a
/// group has been stored, has waited ``SubmissionGroupBounds/gatherMax`` or is full. A session is
/// in one group at a time: two would wait for one another at the lock of its counters.
struct SubmissionBatcher<Session: Hashable & Sendable>: ~Copyable {
    typealias RequestID = Int
    typealias Instant = ContinuousClock.Instant

    /// Why a request is not sent.
    enum Refusal: Equatable, Sendable {
        /// As many wait as may, or it has waited as long as it may.
        case exhausted
        case cancelled
    }

    /// What is to be done, in this order.
    enum Action: Equatable, Sendable {
        /// Store these in one transaction, then tell ``groupEnded(freeing:now:)``.
        case send([RequestID])
        /// Let the request fail; nothing of it was sent.
        case refuse(RequestID, Refusal)
    }

    private struct Waiting {
        let id: RequestID
        let session: Session
        let size: SubmissionSize
        let arrival: Instant
    }

    private let bounds: SubmissionGroupBounds
    /// In the order of their arrival.
    private var waiting: [Waiting] = []
    /// Sessions of requests that were sent and have no answer yet.
    private var busy: Set<Session> = []
    private var groupsUnderWay = 0

    init(bounds: SubmissionGroupBounds = SubmissionGroupBounds()) { self.bounds = bounds }

    /// Requests that were not sent yet.
    var waitingCount: Int { waiting.count }

    /// When ``tick(now:)`` has something to do; nil when only other events do.
    var nextInstant: Instant? {
        guard let oldest = waiting.first else { return nil }
        let expiry = oldest.arrival + bounds.waitMax
        guard groupsUnderWay < bounds.groupsMax,
            let ready = waiting.first(where: { !busy.contains($0.session) })
        else { return expiry }
        return min(expiry, ready.arrival + bounds.gatherMax)
    }

    /// Returns a request wants to be stored.
    mutating func arrived(
        _ id: RequestID,
        to session: Session,
        size: SubmissionSize,
        now: Instant
    ) -> [Action] {
        guard waiting.count < bounds.waitingMax else { return [.refuse(id, .exhausted)] }
        waiting.append(Waiting(id: id, session: session, size: size, arrival: now))
        return settle(now: now)
    }

    /// Returns the transaction of a group is over; the requests to `sessions` have their answers.
    mutating func groupEnded(freeing sessions: Set<Session>, now: Instant) -> [Action] {
        groupsUnderWay -= 1
        busy.subtract(sessions)
        return settle(now: now, isGathered: true)
    }

    /// Returns the requests to `session`, which were left over by their group, have their answers.
    mutating func sessionEnded(_ session: Session, now: Instant) -> [Action] {
        busy.remove(session)
        return settle(now: now)
    }

    /// Returns the time of ``nextInstant`` has come.
    mutating func tick(now: Instant) -> [Action] {
        let expired = waiting.prefix { $0.arrival + bounds.waitMax <= now }
        waiting.removeFirst(expired.count)
        return expired.map { .refuse($0.id, .exhausted) } + settle(now: now)
    }

    /// Returns a request's caller is gone; one that was sent is not concerned.
    mutating func cancel(_ id: RequestID) -> [Action] {
        guard let index = waiting.firstIndex(where: { $0.id == id }) else { return [] }
        waiting.remove(at: index)
        return [.refuse(id, .cancelled)]
    }

    /// Sends what is to be sent now; `isGathered` when those who wait have waited enough.
    private mutating func settle(now: Instant, isGathered: Bool = false) -> [Action] {
        var actions: [Action] = []
        while groupsUnderWay < bounds.groupsMax {
            let (group, isFull) = nextGroup()
            guard let oldest = group.first,
                groupsUnderWay == 0 || isGathered || isFull
                    || oldest.arrival + bounds.gatherMax <= now
            else { break }
            let ids = Set(group.map(\.id))
            waiting.removeAll { ids.contains($0.id) }
            busy.formUnion(group.map(\.session))
            groupsUnderWay += 1
            actions.append(.send(group.map(\.id)))
        }
        return actions
    }

    /// Returns the oldest requests that may go together, and whether no more would fit.
    private func nextGroup() -> (group: [Waiting], isFull: Bool) {
        var group: [Waiting] = []
        var size = SubmissionSize(taskCount: 0, byteCount: 0)
        for request in waiting where !busy.contains(request.session) {
            size += request.size
            // Those behind it wait too: none overtakes another one to its session.
            guard group.isEmpty || bounds.hold(requestCount: group.count + 1, size) else {
                return (group, true)
            }
            group.append(request)
        }
        return (group, group.count == bounds.requestsMax)
    }
}
