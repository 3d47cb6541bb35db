import Foundation
import Synchronization
import TransferModel

/// The schedule of a worker, shared by the claiming loop and the threads on which attempts end.
final class Scheduler: Sendable {
    private let schedule: Mutex<Schedule>
    /// The decisions about hosts that are not stored yet.
    private let changes = Mutex<[HostChange]>([])

    /// The maximum number of decisions that wait to be stored; beyond it, the oldest are forgotten.
    private static let changesMax = 1000

    init(_ settings: Schedule.Settings) { schedule = Mutex(Schedule(settings)) }

    /// Reads or changes the schedule under its lock.
    func with<Result: Sendable>(_ body: (inout Schedule) -> Result) -> Result {
        schedule.withLock { body(&$0) }
    }

    /// The place where the connections of an attempt count.
    func place(of claim: TaskClaim) -> ConnectionSlots.Place {
        with { schedule in
            ConnectionSlots.Place(
                flow: claim.flow,
                tenant: claim.tenant,
                perHost: schedule.limit(of: claim.lane),
                perFlow: claim.maxConnectionsPerHost ?? .max
            )
        }
    }

    /// Learns from how a host has handled an attempt that has just ended.
    func learn(_ signal: HostPace.Signal, from claim: TaskClaim, bytes: Int64) {
        let change: HostChange? = with { schedule in
            let decision = schedule.learn(signal, from: claim.fence, bytes: bytes, at: .now)
            guard let decision else { return nil }
            return HostChange(
                claim,
                before: decision.before,
                after: decision.after,
                decision.reason,
                of: schedule,
                isClosed: false
            )
        }
        if let change { add([change]) }
    }

    /// Records that a host was closed or opened.
    func record(_ change: Reachability.Change, of claim: TaskClaim) {
        let change: HostChange? = with { schedule in
            guard schedule.shards.contains(claim.lane.shard) else { return nil }
            let given = schedule.given(to: claim.lane)
            return switch change {
            case .closed(let reason):
                HostChange(claim, before: given, after: 0, reason, of: schedule, isClosed: true)
            case .opened(let reason):
                HostChange(claim, before: 0, after: given, reason, of: schedule, isClosed: false)
            }
        }
        if let change { add([change]) }
    }

    /// Returns the changes to be stored and forgets them; only those of this worker's hosts, for
    /// the owners of other hosts report them.
    func takeChanges() -> [HostChange] {
        let shards = with { $0.shards }
        return changes.withLock { changes in
            defer { changes = [] }
            return changes.filter { shards.contains($0.lane.shard) }
        }
    }

    /// Puts back changes that could not be stored.
    func putBack(_ older: [HostChange]) {
        changes.withLock { $0 = Array((older + $0).suffix(Self.changesMax)) }
    }

    private func add(_ newer: [HostChange]) {
        changes.withLock { $0 = Array(($0 + newer).suffix(Self.changesMax)) }
    }
}

extension HostChange {
    fileprivate init(
        _ claim: TaskClaim,
        before: Int,
        after: Int,
        _ reason: String,
        of schedule: Schedule,
        isClosed: Bool
    ) {
        self.init(
            lane: claim.lane,
            // The URL of a task that ran at a host could be parsed.
            name: claim.origin?.hostAndPort ?? "?",
            decision: RemoteHost.Decision(
                decidedAt: Date(),
                before: before,
                after: after,
                reason: reason
            ),
            connections: schedule.pace(of: claim.lane),
            isClosed: isClosed,
            tenants: schedule.tenants(at: claim.lane)
        )
    }
}
