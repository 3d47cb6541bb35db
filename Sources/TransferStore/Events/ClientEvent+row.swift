import Foundation
import TransferModel

private struct StoredChange: Decodable {
    let from: String
    let to: String
    let reason: String
}

private struct StoredAssertion: Decodable {
    let id: UUID
    let name: String
    let expires_at_us: Int64
}

private struct StoredRun: Decodable {
    let run_id: UUID
    let identifier: String
    let kind: String
    let deadline_us: Int64
    let reason: String?
}

extension ClientEvent.AssertionNotice {
    init(_ row: StoredRow) throws(StoreError) {
        let stored = try row.details(as: StoredAssertion.self)
        self.init(
            id: AssertionID(stored.id),
            name: stored.name,
            expiresAt: Date(microsecondsSince1970: stored.expires_at_us)
        )
    }
}

extension ClientEvent.RunNotice {
    init(_ row: StoredRow) throws(StoreError) {
        let stored = try row.details(as: StoredRun.self)
        guard let kind = BackgroundTaskKind(rawValue: stored.kind) else {
            throw StoreError(decoding: "unknown kind of a stored run")
        }
        let reason = stored.reason.flatMap(BackgroundTaskRun.EndReason.init(rawValue:))
        guard (reason == nil) == (stored.reason == nil) else {
            throw StoreError(decoding: "unknown reason of a stored run")
        }
        self.init(
            id: BackgroundTaskRunID(stored.run_id),
            identifier: BackgroundTaskIdentifier(stored: stored.identifier),
            kind: kind,
            deadline: Date(microsecondsSince1970: stored.deadline_us),
            reason: reason
        )
    }
}

extension LifecycleChange {
    init(_ row: StoredRow) throws(StoreError) {
        let stored = try row.details(as: StoredChange.self)
        guard let from = Client.Lifecycle(rawValue: stored.from),
            let to = Client.Lifecycle(rawValue: stored.to),
            let reason = Reason(rawValue: stored.reason)
        else { throw StoreError(decoding: "unknown stored change of a client") }
        self.init(from: from, to: to, reason: reason)
    }
}

extension Date {
    /// Creates the date that the database stored in microseconds.
    init(microsecondsSince1970 microseconds: Int64) {
        self.init(timeIntervalSince1970: Double(microseconds) / 1_000_000)
    }
}
