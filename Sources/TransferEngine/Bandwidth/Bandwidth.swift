import Curl
import Synchronization
import TransferModel
import TransferStore

/// The limits of tasks, sessions and tenants, to which this worker's attempts are held.
///
/// The worker gets the same share of a shared limit as it has of all running attempts that share
/// it. One ``SharedRate`` holds these attempts to that share byte by byte, whatever they do; how
/// much of it each of them gets is decided besides, by ``RateAllocation`` from what they have used
/// recently. See docs/decisions/0011-bandwidth.md.
final class Bandwidth: Sendable {
    fileprivate struct Member {
        let attempt: any TransferAttempt
        var limits: RateLimits
        /// The attempt's own limit or, where it shares one, its part.
        var own: SharedRate?
        /// The part of a shared limit; nil until it is decided.
        var part: Int64?
        var use = RateUse()
    }

    /// The limit that the attempts of one session or tenant share.
    fileprivate struct Group {
        let rate = SharedRate(0)
        var limit: Int64
        /// The version of the reading that the limit comes from.
        var version: Int64
        /// The attempts that share the limit; nil until they are counted.
        var sharers: Controls.Sharers?
        /// The value that `rate` was set to.
        var budget: Int64 = 0
    }

    fileprivate struct State {
        var members: [Fence: Member] = [:]
        var groups: [RateOwner: Group] = [:]
    }

    private let state = Mutex(State())
    private let onQuery: @Sendable () -> Void

    /// Creates an instance without attempts; `onQuery` is called when the ``query`` should be asked
    /// soon.
    init(onQuery: @escaping @Sendable () -> Void) { self.onQuery = onQuery }

    /// Adds an attempt that is about to start; one without limits costs an entry in a table.
    func add(_ attempt: any TransferAttempt) {
        let claim = attempt.claim
        let isFirst = state.withLock { state in
            state.members[claim.fence] = Member(attempt: attempt, limits: claim.limits)
            guard claim.limits.isLimited else { return false }
            state.hold(claim.fence)
            return claim.shared(claim.limits).contains { owner, _ in
                state.groups[owner]?.sharers?.own ?? 0 == 0
            }
        }
        if isFirst { onQuery() }
    }

    /// Removes an attempt that has ended.
    func remove(_ fence: Fence) {
        state.withLock { _ = $0.members.removeValue(forKey: fence) }
    }

    /// The query to the store whose answer goes to ``apply(_:to:at:)``.
    var query: RateQuery {
        state.withLock { state in
            RateQuery(
                version: state.members.values.lazy.map(\.limits.version).min(),
                owners: Array(state.groups.keys)
            )
        }
    }

    /// Applies the store's answer and divides the limits again.
    func apply(
        _ controls: Controls,
        to query: RateQuery,
        at now: ContinuousClock.Instant = .now
    ) {
        let isUncounted = state.withLock { state in
            for (fence, limits) in controls.limits { state.change(fence, to: limits) }
            guard !state.groups.isEmpty else { return false }
            for owner in query.owners {
                let none = Controls.Sharers(own: 0, all: 0)
                state.groups[owner]?.sharers = controls.sharers[owner] ?? none
            }
            state.divide(at: now)
            return state.groups.values.contains { $0.sharers == nil }
        }
        if isUncounted { onQuery() }
    }
}

extension Bandwidth.Group {
    /// The part of the limit that this worker may have: nothing until all sharers are counted.
    fileprivate var due: Int64 {
        guard let sharers else { return 0 }
        // Where none of its own attempts is counted, the next one is.
        let own = max(1, sharers.own)
        let all = max(own, sharers.own > 0 ? sharers.all : sharers.all + 1)
        return limit / all * own + limit % all * own / all
    }
}

extension Bandwidth.State {
    /// Puts an attempt under its limits, as far as the shared ones are known.
    fileprivate mutating func hold(_ fence: Fence) {
        guard var member = members[fence] else { return }
        member.part = nil
        if let limit = member.limits.task {
            member.own?.limit(to: limit)
            member.own = member.own ?? SharedRate(limit)
        } else {
            member.own = nil
        }
        let limits = member.limits
        for (owner, limit) in member.attempt.claim.shared(limits) {
            var group =
                groups[owner] ?? Bandwidth.Group(limit: limit, version: limits.version)
            if group.version < limits.version {
                group.limit = limit
                group.version = limits.version
            }
            groups[owner] = group
        }
        members[fence] = member
        share(member)
    }

    fileprivate mutating func change(_ fence: Fence, to limits: RateLimits) {
        guard let old = members[fence]?.limits else { return }
        members[fence]?.limits = limits
        var known = old
        known.version = limits.version
        if known != limits { hold(fence) }
    }

    private func share(_ member: Bandwidth.Member) {
        let shared = member.attempt.claim.shared(member.limits).compactMap { groups[$0.owner] }
        member.attempt.connections.share((member.own.map { [$0] } ?? []) + shared.map(\.rate))
    }

    /// Sets each group's part of its limit, and each attempt's part of what it shares.
    fileprivate mutating func divide(at now: ContinuousClock.Instant) {
        var changed: Set<RateOwner> = []
        for (owner, group) in groups where group.due != group.budget {
            groups[owner]?.budget = group.due
            group.rate.limit(to: group.due)
            changed.insert(owner)
        }
        var sharing = members.values.filter(\.limits.isShared)
        sharing.sort { $0.attempt.claim.fence.rawValue < $1.attempt.claim.fence.rawValue }
        let transfers = sharing.indices.map { sharing[$0].transfer(at: now) }
        let parts = RateAllocation.rates(of: transfers, limits: groups.mapValues(\.budget))
        var used: Set<RateOwner> = []
        for (var member, part) in zip(sharing, parts) {
            let owners = member.attempt.claim.shared(member.limits).map(\.owner)
            used.formUnion(owners)
            if let part, part != member.part || !changed.isDisjoint(with: owners) {
                member.part = part
                member.own?.limit(to: part)
                member.own = member.own ?? SharedRate(part)
                share(member)
            }
            members[member.attempt.claim.fence] = member
        }
        // The debt of small transfers is kept after their end.
        groups = groups.filter { used.contains($0.key) || !$0.value.rate.isSettled }
    }
}

extension Bandwidth.Member {
    /// Returns what decides about the attempt's part, and records what it has used.
    fileprivate mutating func transfer(
        at now: ContinuousClock.Instant
    ) -> RateAllocation.Transfer {
        use.note(attempt.progress.moved, given: part, at: now)
        return RateAllocation.Transfer(
            session: attempt.claim.session,
            tenant: attempt.claim.tenant,
            limit: limits.task,
            demand: use.demand
        )
    }
}
