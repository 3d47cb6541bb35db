import Foundation
import TransferModel

private struct StoredFailedTask: Decodable {
    let id: UUID
    let code: String
    /// The client string in base64, because JSON in PostgreSQL cannot hold every byte that it may
    /// contain.
    let client_string: Data?
    let is_omitted: Bool

    var clientString: ClientString? {
        get throws(StoreError) {
            guard let client_string else { return nil }
            guard let text = String(validating: client_string, as: UTF8.self) else {
                throw StoreError(decoding: "a client string of a stored failure is not UTF-8")
            }
            return ClientString(stored: text)
        }
    }
}

private struct StoredSummary: Decodable {
    let completed: Int64
    let failed: Int64
    let cancelled: Int64
}

extension SessionEvent.GenerationSummary {
    init(_ row: StoredRow) throws(StoreError) {
        let counts = try row.json("summary", as: StoredSummary.self)
        let listed = try row.json("failed_tasks", as: [StoredFailedTask].self)
        let failedTasks = try listed.map { task throws(StoreError) in
            guard let code = TransferFailure.Code(rawValue: task.code) else {
                throw StoreError(decoding: "unknown failure code in a stored failure")
            }
            return SessionEvent.FailedTask(
                id: TaskID(task.id),
                clientString: try task.clientString,
                isClientStringOmitted: task.is_omitted,
                code: code
            )
        }
        self.init(
            completed: counts.completed,
            failed: counts.failed,
            cancelled: counts.cancelled,
            failedTasks: failedTasks
        )
    }
}

private struct StoredPendingTasks: Decodable {
    let waiting_to_begin: Int64
    let waiting_for_authentication: Int64
    let tasks: [UUID]?
}

extension SessionEvent.PendingTasks {
    init(_ row: StoredRow) throws(StoreError) {
        let stored = try row.details(as: StoredPendingTasks.self)
        self.init(
            waitingToBegin: stored.waiting_to_begin,
            waitingForAuthentication: stored.waiting_for_authentication,
            tasks: (stored.tasks ?? []).map { TaskID($0) }
        )
    }
}

private struct StoredRemoval: Decodable {
    let client: String
    let kind: String
}

extension SessionEvent.RemovedClient {
    init(_ row: StoredRow) throws(StoreError) {
        let stored = try row.details(as: StoredRemoval.self)
        guard let kind = Client.Kind(rawValue: stored.kind) else {
            throw StoreError(decoding: "unknown kind of a removed client")
        }
        self.init(id: ClientID(stored: stored.client), kind: kind)
    }
}

private struct StoredDisablement: Decodable {
    let subscription_id: UUID
    let reason: String
    let failing_since_ms: Int64
}

extension SessionEvent.DisabledSubscription {
    init(_ row: StoredRow) throws(StoreError) {
        let stored = try row.details(as: StoredDisablement.self)
        guard let reason = Subscription.Disablement.Reason(rawValue: stored.reason) else {
            throw StoreError(decoding: "unknown reason of a stored disablement")
        }
        self.init(
            id: SubscriptionID(stored.subscription_id),
            reason: reason,
            failingSince: Date(timeIntervalSince1970: Double(stored.failing_since_ms) / 1000)
        )
    }
}

private struct StoredExpiry: Decodable {
    let subscription_id: UUID
    let session_id: UUID
    let client: String
    let session_identifier: String?
    let first_sequence: Int64
    let last_sequence: Int64
}

extension SessionEvent.ExpiredEvents {
    init(_ row: StoredRow) throws(StoreError) {
        let stored = try row.details(as: StoredExpiry.self)
        guard stored.first_sequence <= stored.last_sequence else {
            throw StoreError(decoding: "an empty range of expired events")
        }
        self.init(
            subscription: SubscriptionID(stored.subscription_id),
            session: SessionID(stored.session_id),
            client: ClientID(stored: stored.client),
            sessionIdentifier: stored.session_identifier,
            sequences: stored.first_sequence...stored.last_sequence
        )
    }
}
