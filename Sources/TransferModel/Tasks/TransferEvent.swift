/// An event that moves a task from one state to another.
package enum TransferEvent: CaseIterable, Sendable {
    case suspended
    case resumed
    case scheduled
    case promoted
    case askedToBegin
    case askedForCredential
    case answered
    case claimed
    case released
    case retryScheduled
    case connectivityLost
    case completed
    case failed
    case cancelled
    case retried
}
