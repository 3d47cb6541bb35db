package import Foundation

/// A client's validated request for one transfer.
package struct TaskSubmission: Sendable {
    package let id: TaskID
    package var url: String
    /// The host that the task counts against.
    package var hostKey: HostKey
    package var headers: [HTTPHeader]
    package var clientString: ClientString?
    package var earliestBeginAt: Date?
    /// Whether the task starts without a `resume` by its client.
    package var autostart: Bool
    package var destination: Destination?
    package var priority: TaskPriority
    /// The resume data of a cancelled task from which this one continues.
    package var resumeData: ResumeDataID?
    package var options: TransferOptions
    package var request: TransferRequest

    package init(
        id: TaskID,
        url: String,
        hostKey: HostKey,
        headers: [HTTPHeader] = [],
        clientString: ClientString? = nil,
        earliestBeginAt: Date? = nil,
        autostart: Bool = true,
        destination: Destination? = nil,
        priority: TaskPriority = .default,
        resumeData: ResumeDataID? = nil,
        options: TransferOptions = TransferOptions(),
        request: TransferRequest = TransferRequest()
    ) {
        self.id = id
        self.url = url
        self.hostKey = hostKey
        self.headers = headers
        self.clientString = clientString
        self.earliestBeginAt = earliestBeginAt
        self.autostart = autostart
        self.destination = destination
        self.priority = priority
        self.resumeData = resumeData
        self.options = options
        self.request = request
    }
}
