package import Postgres
package import TransferModel

/// The reasons why a verb of the store has no answer.
package enum StoreError: Error, Sendable {
    /// The database cannot be reached, is starting or is overloaded; the same call may work soon.
    /// Whether a change was made is unknown: every verb can be repeated.
    case unavailable(PostgresError)
    /// A request with the same idempotency key is still in progress.
    case idempotencyKeyInUse
    /// Much of a client's force-quit is still to be done before it can be launched; the same call
    /// may work soon.
    case forceQuitInProgress
    /// The tenant has reached its limit; nothing was stored.
    case quotaExceeded(Quota)
    /// The database refused for a reason that is a defect of this program.
    case defect(PostgresError)

    /// The reason in one short line without values, secrets or addresses, for operators.
    package var reason: String {
        switch self {
        case .unavailable(let error), .defect(let error): error.reason
        case .idempotencyKeyInUse, .forceQuitInProgress, .quotaExceeded: description
        }
    }

    /// Creates a defect; `text` says what a row lacks or must not hold.
    init(decoding text: String) { self = .defect(PostgresError(decoding: text)) }

    init(_ error: PostgresError) {
        self = error.isUnavailable || error.isRetryable ? .unavailable(error) : .defect(error)
    }
}

extension StoreError {
    /// Whether the same call may work soon.
    package var isUnavailable: Bool {
        if case .unavailable = self { true } else { false }
    }

    /// Whether the database has failed for a reason of its own, which says nothing of the call;
    /// that may pass, or not.
    package var isInternal: Bool {
        if case .defect(let error) = self { error.isInternal } else { false }
    }

    /// Whether the database serves, but this call's rows are locked by others or are more than it
    /// can change in time; other calls need not wait.
    package var isContended: Bool {
        if case .unavailable(let error) = self { error.isContended } else { false }
    }
}

extension StoreError: CustomStringConvertible, CustomDebugStringConvertible {
    package var description: String {
        switch self {
        case .unavailable(let error): "the database cannot serve now: \(error)"
        case .idempotencyKeyInUse: "a request with the same idempotency key is still at work"
        case .forceQuitInProgress: "a client's force-quit is still at work"
        case .quotaExceeded(let quota):
            "the tenant has its \(quota.maximum) \(quota.limit.rawValue)"
        case .defect(let error): "the database refused: \(error)"
        }
    }

    /// The description with the server's own words, for the log.
    package var debugDescription: String {
        switch self {
        case .unavailable(let error): "the database cannot serve now: \(error.debugDescription)"
        case .idempotencyKeyInUse, .forceQuitInProgress, .quotaExceeded: description
        case .defect(let error): "the database refused: \(error.debugDescription)"
        }
    }
}
