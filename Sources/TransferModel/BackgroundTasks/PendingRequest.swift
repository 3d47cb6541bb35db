package import Foundation

/// A request that waits to be launched.
package struct PendingRequest: Sendable {
    package let id: BackgroundTaskRequestID
    package let client: ClientID
    package let kind: BackgroundTaskKind
    package let request: BackgroundTaskRequest
    package let submittedAt: Date
    package let wait: RequestWait

    package init(
        id: BackgroundTaskRequestID,
        client: ClientID,
        kind: BackgroundTaskKind,
        request: BackgroundTaskRequest,
        submittedAt: Date,
        wait: RequestWait
    ) {
        self.id = id
        self.client = client
        self.kind = kind
        self.request = request
        self.submittedAt = submittedAt
        self.wait = wait
    }
}
