package import Foundation

/// A transfer task as a client sees it.
package struct TransferTask: Sendable {
    package let id: TaskID
    package let session: SessionID
    package let client: ClientID
    package let sessionIdentifier: String
    package let state: TransferState
    package let url: String
    package let clientString: ClientString?
    package let earliestBeginAt: Date?
    package let destination: Destination?
    package let priority: TaskPriority
    /// The transfer options that the task itself sets.
    package let options: TransferOptions
    package let kind: TransferRequest.Kind
    package let method: String
    /// Whether the client still has to bring the bytes of an upload.
    package let awaitsBody: Bool
    /// The number of attempts started so far.
    package let attempt: Int
    package let bytesReceived: Int64
    /// The length of the file; nil while unknown: `NSURLSessionTransferSizeUnknown`.
    package let bytesExpected: Int64?
    package let bytesSent: Int64
    /// The length of the upload; nil while unknown.
    package let bytesToSend: Int64?
    /// The rate of the running attempt in the last seconds; nil when there is none.
    package let bytesPerSecond: Int64?
    /// The time until which a waiting state lasts.
    package let waitsUntil: Date?
    /// The newest failure: that of a failed task, or that of a waiting task's last attempt.
    package let failure: TransferFailure?
    package let result: TransferResult?
    /// The fence of the part file that is itself the result; nil when the result's name has no
    /// fence.
    package let part: Fence?
    /// The time at which the file of the completed task was found to be gone; nil until then.
    package let resultGoneAt: Date?
    package let createdAt: Date
    /// The number of changes that the client has made to the task.
    package let revision: Int32
    package let finishedAt: Date?
    /// The time until which the task is kept at least; nil before its end.
    package let expiresAt: Date?

    package init(
        id: TaskID,
        session: SessionID,
        client: ClientID,
        sessionIdentifier: String,
        state: TransferState,
        url: String,
        clientString: ClientString?,
        earliestBeginAt: Date?,
        destination: Destination?,
        priority: TaskPriority,
        options: TransferOptions,
        kind: TransferRequest.Kind,
        method: String,
        awaitsBody: Bool,
        attempt: Int,
        bytesReceived: Int64,
        bytesExpected: Int64?,
        bytesSent: Int64,
        bytesToSend: Int64?,
        bytesPerSecond: Int64?,
        waitsUntil: Date?,
        failure: TransferFailure?,
        result: TransferResult?,
        part: Fence?,
        resultGoneAt: Date? = nil,
        createdAt: Date,
        revision: Int32 = 0,
        finishedAt: Date?,
        expiresAt: Date?
    ) {
        self.id = id
        self.session = session
        self.client = client
        self.sessionIdentifier = sessionIdentifier
        self.state = state
        self.url = url
        self.clientString = clientString
        self.earliestBeginAt = earliestBeginAt
        self.destination = destination
        self.priority = priority
        self.options = options
        self.kind = kind
        self.method = method
        self.awaitsBody = awaitsBody
        self.attempt = attempt
        self.bytesReceived = bytesReceived
        self.bytesExpected = bytesExpected
        self.bytesSent = bytesSent
        self.bytesToSend = bytesToSend
        self.bytesPerSecond = bytesPerSecond
        self.waitsUntil = waitsUntil
        self.failure = failure
        self.result = result
        self.part = part
        self.resultGoneAt = resultGoneAt
        self.createdAt = createdAt
        self.revision = revision
        self.finishedAt = finishedAt
        self.expiresAt = expiresAt
    }
}
