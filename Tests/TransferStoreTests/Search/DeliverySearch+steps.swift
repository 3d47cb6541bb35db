import TransferTestSupport
import Postgres
import TransferModel
import TransferStore

/// The possible next steps, and how a dispatcher takes them.
extension DeliverySearch {
    private static let lease: Duration = .seconds(600)
    private static let claimsMax = 10

    static func steps(
        _ world: DeliverySearchWorld,
        _ snapshot: DeliverySearchSnapshot
    ) -> [DeliverySearchStep] {
        let allowance = world.allowance
        let answers = allowance.lostAnswers > 0 ? [true, false] : [true]
        var steps: [DeliverySearchStep] = world.writes.isEmpty ? [] : [.write]
        for (number, dispatcher) in world.dispatchers.enumerated() where dispatcher.isRunning {
            if snapshot.deliveries.contains(where: \.isDue), world.hasBegun || number == 0 {
                steps += answers.map { .claim(number, isHeard: $0) }
            }
            if allowance.takeovers > 0 { steps.append(.takeOver(number)) }
            // One pair after the other: the database chooses which is first, and both are alike.
            for (index, held) in dispatcher.held.prefix(1).enumerated() {
                if held.cursor < snapshot.lastSequence {
                    steps += answers.map { .send(number, index, isHeard: $0) }
                    if allowance.refusals > 0 { steps.append(.refuse(number, index)) }
                }
                if held.cursor > held.recorded {
                    steps += answers.map { .record(number, index, isHeard: $0) }
                } else if held.cursor == snapshot.lastSequence || allowance.earlyReleases > 0 {
                    steps += answers.map { .release(number, index, isHeard: $0) }
                }
            }
        }
        let isHeld = snapshot.deliveries.contains { $0.fence != nil }
        if allowance.expiries > 0, isHeld { steps.append(.expire) }
        if allowance.expiredLogs > 0, snapshot.hasEvents { steps.append(.expireLog) }
        return steps
    }

    mutating func perform(
        _ step: DeliverySearchStep,
        _ world: inout DeliverySearchWorld
    ) async throws {
        switch step {
        case .write: try await write(world.writes.removeFirst())
        case .claim(let number, let isHeard): try await claim(number, isHeard, &world)
        case .send(let number, let index, let isHeard):
            try await send(number, index, isHeard, &world)
        case .refuse(let number, let index):
            world.allowance.refusals -= 1
            try await fail(number, index, &world)
        case .record(let number, let index, let isHeard):
            try await record(number, index, isHeard, &world)
        case .release(let number, let index, let isHeard):
            let held = world.dispatchers[number].held.remove(at: index)
            if held.cursor < (try await look()).lastSequence { world.allowance.earlyReleases -= 1 }
            // Nobody repeats the call: the lease frees a claim that was not released.
            if isHeard {
                _ = try await stores.deliveries.releaseDelivery(held.claim)
            } else {
                world.allowance.lostAnswers -= 1
            }
        case .takeOver(let number): try await takeOver(number, &world)
        case .expire:
            world.allowance.expiries -= 1
            _ = try await pool.execute(
                "UPDATE delivery SET due_at = now() - interval '1 s' WHERE fence IS NOT NULL"
            )
        case .expireLog:
            world.allowance.expiredLogs -= 1
            _ = try await pool.execute(
                "DELETE FROM event_run WHERE session_id NOT IN (SELECT id FROM tenant)"
            )
        }
    }

    private mutating func claim(
        _ number: Int,
        _ isHeard: Bool,
        _ world: inout DeliverySearchWorld
    ) async throws {
        world.hasBegun = true
        let identity = identity(world.dispatchers[number].incarnation)
        let due = try await stores.deliveries.claimDeliveries(
            identity.reserve(Self.claimsMax),
            limit: Self.claimsMax,
            lease: Self.lease
        )
        guard isHeard else {
            world.allowance.lostAnswers -= 1
            return
        }
        world.dispatchers[number].held += due.claims.map {
            DeliverySearchWorld.Held(
                claim: $0,
                cursor: $0.acknowledgedSequence,
                recorded: $0.acknowledgedSequence
            )
        }
    }

    private mutating func send(
        _ number: Int,
        _ index: Int,
        _ isHeard: Bool,
        _ world: inout DeliverySearchWorld
    ) async throws {
        let held = world.dispatchers[number].held[index]
        let events = try await stores.events.events(
            of: held.claim.session,
            after: held.cursor,
            limit: 100
        )
        let place = place(of: held.claim.subscription)
        guard let first = events.first, let last = events.last,
            first.sequence == held.cursor + 1
        else { return try await passExpired(number, index, isHeard, &world) }
        require(first.sequence <= world.taken[place] + 1, "nothing is sent early")
        world.taken[place] = max(world.taken[place], last.sequence)
        world.received[place].formUnion(events.map(\.sequence))
        guard isHeard else {
            world.allowance.lostAnswers -= 1
            return try await fail(number, index, &world)
        }
        world.dispatchers[number].held[index].cursor = last.sequence
    }

    /// Records previously taken messages first, because they would otherwise be reported as
    /// expired.
    private mutating func passExpired(
        _ number: Int,
        _ index: Int,
        _ isHeard: Bool,
        _ world: inout DeliverySearchWorld
    ) async throws {
        let held = world.dispatchers[number].held[index]
        if held.cursor > held.recorded {
            return try await record(number, index, isHeard, &world)
        }
        let cursor = try await stores.deliveries.recordExpired(held.claim, lease: Self.lease)
        // The event that reports it is delivered like any other, and not examined here.
        _ = try await pool.execute(
            "UPDATE delivery SET due_at = NULL WHERE session_id IN (SELECT id FROM tenant)"
        )
        if let cursor {
            let place = place(of: held.claim.subscription)
            require(cursor > held.cursor, "what is missing has expired")
            world.taken[place] = max(world.taken[place], cursor)
        }
        guard isHeard else {
            world.allowance.lostAnswers -= 1
            return
        }
        guard let cursor else {
            world.dispatchers[number].held.remove(at: index)
            return
        }
        world.dispatchers[number].held[index].cursor = cursor
        world.dispatchers[number].held[index].recorded = cursor
    }

    /// Fails a try, or one whose outcome nobody can know; messages taken before are recorded first.
    private mutating func fail(
        _ number: Int,
        _ index: Int,
        _ world: inout DeliverySearchWorld
    ) async throws {
        let held = world.dispatchers[number].held.remove(at: index)
        if held.cursor > held.recorded {
            let isOurs = try await recordDelivered(held)
            guard isOurs else { return }
        }
        _ = try await stores.deliveries.recordDeliveryFailed(
            held.claim,
            sequence: held.cursor + 1,
            DeliverySetback(
                attempt: StoreFixture.attempt(status: 500, reason: "http_status"),
                retryAfter: .zero
            )
        )
    }

    private mutating func record(
        _ number: Int,
        _ index: Int,
        _ isHeard: Bool,
        _ world: inout DeliverySearchWorld
    ) async throws {
        let held = world.dispatchers[number].held[index]
        let isOurs = try await recordDelivered(held)
        guard isHeard else {
            // The call is repeated.
            world.allowance.lostAnswers -= 1
            return
        }
        if isOurs {
            world.dispatchers[number].held[index].recorded = held.cursor
        } else {
            world.dispatchers[number].held.remove(at: index)
        }
    }

    private func recordDelivered(_ held: DeliverySearchWorld.Held) async throws -> Bool {
        try await stores.deliveries.recordDelivered(
            held.claim,
            through: held.cursor,
            status: 204,
            lease: Self.lease
        ) != .stale
    }

    /// Takes over from all others, which have been silent for too long, unlike this one.
    private mutating func takeOver(
        _ number: Int,
        _ world: inout DeliverySearchWorld
    ) async throws {
        world.allowance.takeovers -= 1
        let incarnation = world.dispatchers[number].incarnation
        _ = try await pool.execute(
            """
            UPDATE worker SET alive_since = clock_timestamp() - interval '1 hour',
                heartbeat_at = CASE WHEN incarnation = \(incarnation) THEN clock_timestamp()
                    ELSE clock_timestamp() - interval '1 hour' END
            """
        )
        _ = try await stores.workers.takeOver(
            silentFor: Self.lease,
            identity: identity(incarnation)
        )
    }
}
