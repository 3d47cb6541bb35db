import Foundation
import Synchronization
import TransferModel

/// The fair share of a worker, shared by the claiming loop and the threads on which attempts end.
final class SharedFairShare: Sendable {
    private let share: Mutex<FairShare>
    /// The decisions about hosts that are not stored yet.
    private let changes = Mutex<[HostChange]>([])

    /// The maximum number of decisions that wait to be stored; beyond it, the oldest are forgotten.
    private static let changesMax = 1000

    init(_ settings: FairShare.Settings) { share = Mutex(FairShare(settings)) }

    /// Reads or changes the fair share under its lock.
    func with<Result: Sendable>(_ body: (inout FairShare) -> Result) -> Result {
        share.withLock { body(&$0) }
    }

    /// The place where the connections of an attempt count.
    func place(of claim: TaskClaim) -> ConnectionSlots.Place {
        with { share in
            ConnectionSlots.Place(
                flow: claim.flow,
                tenant: claim.tenant,
                perHost: share.limit(of: claim.hostKey),
                perFlow: claim.maxConnectionsPerHost ?? .max
            )
        }
    }

    /// Learns from how a host has handled an attempt that has just ended.
    func learn(_ report: HostPace.Report, from claim: TaskClaim, bytes: Int64) {
        let change: HostChange? = with { share in
            let decision = share.learn(report, from: claim.fence, bytes: bytes, at: .now)
            guard let decision else { return nil }
            return HostChange(
                claim,
                before: decision.before,
                after: decision.after,
                decision.reason,
                of: share,
                isClosed: false
            )
        }
        if let change { add([change]) }
    }

    /// Records that a host was closed or opened.
    func record(_ change: Reachability.Change, of claim: TaskClaim) {
        let change: HostChange? = with { share in
            guard share.shards.contains(claim.hostKey.shard) else { return nil }
            let given = share.given(to: claim.hostKey)
            return switch change {
            case .closed(let reason):
                HostChange(claim, before: given, after: 0, reason, of: share, isClosed: true)
            case .opened(let reason):
                HostChange(claim, before: 0, after: given, reason, of: share, isClosed: false)
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
            return changes.filter { shards.contains($0.hostKey.shard) }
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
        of share: FairShare,
        isClosed: Bool
    ) {
        self.init(
            hostKey: claim.hostKey,
            // The URL of a task that ran at a host could be parsed.
            name: claim.origin?.hostAndPort ?? "?",
            decision: RemoteHost.Decision(
                decidedAt: Date(),
                before: before,
                after: after,
                reason: reason
            ),
            connections: share.pace(of: claim.hostKey),
            isClosed: isClosed,
            tenants: share.tenants(at: claim.hostKey)
        )
    }
}
