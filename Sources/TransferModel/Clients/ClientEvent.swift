package import Foundation

/// The content of an event in a client's own log.
package enum ClientEvent: Equatable, Sendable {
    case lifecycle(LifecycleChange)
    case assertion(AssertionNotice)
    case run(RunNotice)

    /// An assertion whose time is ending or over.
    package struct AssertionNotice: Equatable, Sendable {
        package let id: AssertionID
        package let name: String
        package let expiresAt: Date

        package init(id: AssertionID, name: String, expiresAt: Date) {
            self.id = id
            self.name = name
            self.expiresAt = expiresAt
        }
    }

    /// A run that is launched, or whose time is ending or over.
    package struct RunNotice: Equatable, Sendable {
        package let id: BackgroundTaskRunID
        package let identifier: BackgroundTaskIdentifier
        package let kind: BackgroundTaskKind
        package let deadline: Date
        /// Why it has ended; nil while it has not.
        package let reason: BackgroundTaskRun.EndReason?

        package init(
            id: BackgroundTaskRunID,
            identifier: BackgroundTaskIdentifier,
            kind: BackgroundTaskKind,
            deadline: Date,
            reason: BackgroundTaskRun.EndReason?
        ) {
            self.id = id
            self.identifier = identifier
            self.kind = kind
            self.deadline = deadline
            self.reason = reason
        }
    }
}
