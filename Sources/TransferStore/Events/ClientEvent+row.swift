import Foundation
import Postgres
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

extension ClientEvent {
    /// Creates the content of an event in a client's log; nil for any other event.
    init?(_ row: StoredRow) throws(StoreError) {
        let kind = try row.word("kind", as: SessionEvent.Kind.self)
        guard let json = try row.details(of: kind) else { return nil }
        switch kind {
        case .clientLifecycleChanged: self = .lifecycle(try LifecycleChange(stored: json.text))
        case .assertionExpiring, .assertionExpired:
            let stored = try StoredJSON.decode(StoredAssertion.self, json.text)
            self = .assertion(
                AssertionNotice(
                    id: AssertionID(stored.id),
                    name: stored.name,
                    expiresAt: Date(microsecondsSince1970: stored.expires_at_us)
                )
            )
        case .backgroundTaskLaunch, .backgroundTaskExpiring, .backgroundTaskExpired:
            self = .run(try RunNotice(stored: json.text))
        default: return nil
        }
    }
}

extension ClientEvent.RunNotice {
    fileprivate init(stored json: String) throws(StoreError) {
        let stored = try StoredJSON.decode(StoredRun.self, json)
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
    fileprivate init(stored json: String) throws(StoreError) {
        let stored = try StoredJSON.decode(StoredChange.self, json)
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
