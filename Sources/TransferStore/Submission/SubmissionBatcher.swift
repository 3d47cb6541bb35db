/// A value that decides which submissions share a commit, and when it begins; it performs no action
/// itself.
///
/// A request that arrives while no group is in progress is sent at once. A later one is sent as
/// soon as a group has been stored, when it has waited ``SubmissionGroupBounds/gatherMax``, or when
/// the group is full. A session is in one group at a time, because two groups would wait for each
/// other at the lock of its counters.
struct SubmissionBatcher<Session: Hashable & Sendable>: ~Copyable {
    typealias RequestID = Int
    typealias Instant = ContinuousClock.Instant

    /// The reasons why a request is not sent.
    enum Refusal: Equatable, Sendable {
        /// The maximum number of requests wait, or the request has waited for the maximum time.
        case exhausted
        case cancelled
    }

    /// An action for the caller; actions are performed in order.
    enum Action: Equatable, Sendable {
        /// Store these in one transaction, then call ``groupEnded(freeing:now:)``.
        case send([RequestID])
        /// Let the request fail; no part of it was sent.
        case refuse(RequestID, Refusal)
    }

    private struct Waiting {
        let id: RequestID
        let session: Session
        let size: SubmissionSize
        let arrival: Instant
    }

    /// The waiting requests whose sessions are in no group, counted, so that a request that changes
    /// nothing costs the same however many wait.
    private struct Ready {
        var count = 0
        var size = SubmissionSize(taskCount: 0, byteCount: 0)
        /// When the first of them arrived.
        var oldest: Instant?

        mutating func add(_ request: Waiting) {
            count += 1
            size += request.size
            oldest = oldest ?? request.arrival
        }
    }

    private let bounds: SubmissionGroupBounds
    private var ready = Ready()
    /// The requests that were not sent yet, in the order of their arrival.
    private var waiting: [Waiting] = []
    /// The sessions of requests that were sent and have no answer yet.
    private var busy: Set<Session> = []
    private var groupsUnderWay = 0

    init(bounds: SubmissionGroupBounds = SubmissionGroupBounds()) { self.bounds = bounds }

    /// The number of requests that were not sent yet; for tests.
    var waitingCount: Int { waiting.count }

    /// The time at which ``tick(now:)`` has something to do; nil when only other events have.
    var nextInstant: Instant? {
        guard let oldest = waiting.first else { return nil }
        let expiry = oldest.arrival + bounds.waitMax
        guard groupsUnderWay < bounds.groupsMax, let ready = ready.oldest else { return expiry }
        return min(expiry, ready + bounds.gatherMax)
    }

    /// Adds a request, and returns the actions that follow.
    mutating func arrived(
        _ id: RequestID,
        to session: Session,
        size: SubmissionSize,
        now: Instant
    ) -> [Action] {
        guard waiting.count < bounds.waitingMax else { return [.refuse(id, .exhausted)] }
        let request = Waiting(id: id, session: session, size: size, arrival: now)
        waiting.append(request)
        if !busy.contains(session) { ready.add(request) }
        return settle(now: now)
    }

    /// Ends the transaction of a group, whose requests to `sessions` have their answers, and
    /// returns the actions that follow.
    mutating func groupEnded(freeing sessions: Set<Session>, now: Instant) -> [Action] {
        groupsUnderWay -= 1
        busy.subtract(sessions)
        countReady()
        return settle(now: now, isGathered: true)
    }

    /// Records that the requests to `session`, which their group did not store, have their answers,
    /// and returns the actions that follow.
    mutating func sessionEnded(_ session: Session, now: Instant) -> [Action] {
        busy.remove(session)
        countReady()
        return settle(now: now)
    }

    /// Refuses requests that have waited too long, and returns the actions that follow; called at
    /// ``nextInstant``.
    mutating func tick(now: Instant) -> [Action] {
        let expired = waiting.prefix { $0.arrival + bounds.waitMax <= now }
        if !expired.isEmpty {
            waiting.removeFirst(expired.count)
            countReady()
        }
        return expired.map { .refuse($0.id, .exhausted) } + settle(now: now)
    }

    /// Refuses a waiting request whose caller is gone, and returns the actions that follow; a
    /// request that was sent continues.
    mutating func cancel(_ id: RequestID) -> [Action] {
        guard let index = waiting.firstIndex(where: { $0.id == id }) else { return [] }
        waiting.remove(at: index)
        countReady()
        return [.refuse(id, .cancelled)]
    }

    /// Returns the groups that can be sent now; `isGathered` if the waiting requests need not wait
    /// for others.
    private mutating func settle(now: Instant, isGathered: Bool = false) -> [Action] {
        var actions: [Action] = []
        while groupsUnderWay < bounds.groupsMax, let oldest = ready.oldest,
            groupsUnderWay == 0 || isGathered || isFull || oldest + bounds.gatherMax <= now
        {
            let group = nextGroup()
            let ids = Set(group.map(\.id))
            waiting.removeAll { ids.contains($0.id) }
            busy.formUnion(group.map(\.session))
            countReady()
            groupsUnderWay += 1
            actions.append(.send(group.map(\.id)))
        }
        return actions
    }

    /// Whether no more would fit into the next group.
    private var isFull: Bool {
        ready.count >= bounds.requestsMax
            || ready.count > 1 && !bounds.hold(requestCount: ready.count, ready.size)
    }

    /// Returns the oldest requests that may go together.
    private func nextGroup() -> [Waiting] {
        var group: [Waiting] = []
        var size = SubmissionSize(taskCount: 0, byteCount: 0)
        for request in waiting where !busy.contains(request.session) {
            size += request.size
            // The requests behind it wait too, so that none overtakes another one to its session.
            guard group.isEmpty || bounds.hold(requestCount: group.count + 1, size) else { break }
            group.append(request)
        }
        return group
    }

    private mutating func countReady() {
        ready = Ready()
        for request in waiting where !busy.contains(request.session) { ready.add(request) }
    }
}
