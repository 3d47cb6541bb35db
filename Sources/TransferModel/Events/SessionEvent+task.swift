/// What events say about tasks.
extension SessionEvent {
    /// The task as it was when the event was written.
    package struct TaskSnapshot: Sendable {
        package let id: TaskID
        package let state: TransferState
        package let attempt: Int
        package let clientString: ClientString?
        package let bytesReceived: Int64
        package let failure: TransferFailure?
        /// The task's progress, in an event that reports it.
        package let progress: Progress?
        /// What the task asks of its origin; nil once the task is kept no longer.
        package let request: TaskRequestSnapshot?
        /// The origin's answer, in the events that end a task with one.
        package let result: TransferResult?

        package init(
            id: TaskID,
            state: TransferState,
            attempt: Int,
            clientString: ClientString?,
            bytesReceived: Int64,
            failure: TransferFailure?,
            progress: Progress? = nil,
            request: TaskRequestSnapshot? = nil,
            result: TransferResult? = nil
        ) {
            self.id = id
            self.state = state
            self.attempt = attempt
            self.clientString = clientString
            self.bytesReceived = bytesReceived
            self.failure = failure
            self.progress = progress
            self.request = request
            self.result = result
        }
    }

    /// What a task asks of its origin, as far as its events tell it.
    package struct TaskRequestSnapshot: Equatable, Sendable {
        package let kind: TransferRequest.Kind
        /// The URL without its query, which may hold a secret; nil while the client may change it,
        /// and for one of more than ``urlBytesMax`` bytes.
        package let url: String?
        package let destination: Destination?

        /// The most bytes of a URL in an event.
        package static let urlBytesMax = 2048

        package init(kind: TransferRequest.Kind, url: String?, destination: Destination?) {
            self.kind = kind
            self.url = url.flatMap { $0.utf8.count <= Self.urlBytesMax ? $0 : nil }
            self.destination = destination
        }
    }

    /// The progress of a task besides the bytes received.
    package struct Progress: Equatable, Sendable {
        /// The length of the file; nil while unknown, as is ``bytesToSend``.
        package let bytesExpected: Int64?
        package let bytesSent: Int64
        package let bytesToSend: Int64?

        package init(bytesExpected: Int64?, bytesSent: Int64, bytesToSend: Int64?) {
            self.bytesExpected = bytesExpected
            self.bytesSent = bytesSent
            self.bytesToSend = bytesToSend
        }
    }
}
