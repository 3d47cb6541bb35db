/// A state in the life of a transfer task; equal to the PostgreSQL type `task_state`.
///
/// The state is the table that names the task, so that it cannot be in two: `docs/states.md` lists
/// them.
package enum TransferState: String, CaseIterable, Sendable {
    /// Created with `autostart: false`, or suspended by its client; that client's `resume` or
    /// `cancel` moves it on.
    case suspended
    /// Waits for its `earliest_begin_at`; the promoter moves it to `queued`.
    case scheduled
    /// Its time has come and its client was asked whether and how it is to start; that client's
    /// answer moves it on, and without an answer in time it fails.
    case waitingToBegin = "waiting_to_begin"
    /// Can run as soon as a slot for its host is free; a worker's claim moves it to `running`.
    case queued
    /// Owned by an attempt of a worker, which completes it, fails it or makes it wait; when that
    /// worker is gone, the rescuer moves it back to `queued`. Once its file is being renamed it can
    /// no longer be cancelled.
    case running
    /// An attempt failed from a cause that may pass; the promoter moves it to `queued`.
    case waitingForRetry = "waiting_for_retry"
    /// Its host could not be reached, which is not counted against it; the promoter moves it to
    /// `queued` when the wait is over or the host has been reached by another task.
    case waitingForConnectivity = "waiting_for_connectivity"
    /// Its origin requires authentication, and no usable credential is there; its client's answer
    /// or a change of the credential moves it on, and without one in time it fails.
    case waitingForAuthentication = "waiting_for_authentication"
    /// The file is whole, verified, durable and under its final name. Final.
    case completed
    /// No further attempt will be made unless its client retries it; `error` says why.
    case failed
    /// Cancelled by its client or with its session; its client can retry it while the session
    /// lives.
    case cancelled

    /// Whether the task has ended: nothing but its client's retry moves it on, and nothing at all
    /// if it is completed.
    package var isTerminal: Bool {
        switch self {
        case .completed, .failed, .cancelled: true
        case .suspended, .scheduled, .waitingToBegin, .queued, .running, .waitingForRetry,
            .waitingForConnectivity, .waitingForAuthentication:
            false
        }
    }

    /// The nearest of `URLSessionTask.State`'s four values.
    package var urlSessionState: String {
        self == .suspended ? "suspended" : isTerminal ? "completed" : "running"
    }
}

extension TransferState {
    /// Returns the state after `event`; nil when the event cannot happen.
    ///
    /// The store's statements are this table in SQL; `docs/states.md` is its picture.
    package func after(_ event: TransferEvent) -> TransferState? {
        switch (self, event) {
        case (.scheduled, .suspended), (.queued, .suspended), (.running, .suspended),
            (.waitingForRetry, .suspended), (.waitingForConnectivity, .suspended),
            (.waitingToBegin, .suspended), (.waitingForAuthentication, .suspended):
            .suspended
        case (.suspended, .resumed): .queued
        case (.failed, .retried), (.cancelled, .retried): .queued
        case (.suspended, .scheduled), (.waitingToBegin, .scheduled), (.failed, .scheduled),
            (.cancelled, .scheduled):
            .scheduled
        case (.scheduled, .askedToBegin): .waitingToBegin
        case (.waitingToBegin, .answered), (.waitingForAuthentication, .answered): .queued
        case (.running, .askedForCredential): .waitingForAuthentication
        case (.scheduled, .promoted), (.waitingForRetry, .promoted),
            (.waitingForConnectivity, .promoted):
            .queued
        case (.queued, .claimed): .running
        case (.running, .released): .queued
        case (.running, .retryScheduled): .waitingForRetry
        case (.running, .connectivityLost): .waitingForConnectivity
        case (.running, .completed): .completed
        case (.running, .failed), (.waitingToBegin, .failed), (.waitingForAuthentication, .failed):
            .failed
        case (.suspended, .cancelled), (.scheduled, .cancelled), (.queued, .cancelled),
            (.running, .cancelled), (.waitingForRetry, .cancelled),
            (.waitingForConnectivity, .cancelled), (.waitingToBegin, .cancelled),
            (.waitingForAuthentication, .cancelled):
            .cancelled
        case (.suspended, _), (.scheduled, _), (.waitingToBegin, _), (.queued, _), (.running, _),
            (.waitingForRetry, _), (.waitingForConnectivity, _), (.waitingForAuthentication, _),
            (.completed, _), (.failed, _), (.cancelled, _):
            nil
        }
    }
}
