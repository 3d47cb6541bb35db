package import Foundation

/// A client's validated request for one transfer.
package struct TaskSubmission: Sendable {
    /// The options, for which there is no room in each of a thousand submissions that have none.
    private enum OwnOptions {
        case none
        indirect case some(TransferOptions)

        init(_ options: TransferOptions) { self = options.isEmpty ? .none : .some(options) }
    }

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
    package var request: TransferRequest
    private var ownOptions: OwnOptions

    /// What the task asks for in place of its session's options.
    package var options: TransferOptions {
        get { if case .some(let options) = ownOptions { options } else { TransferOptions() } }
        set { ownOptions = OwnOptions(newValue) }
    }

    /// Whether any option is set.
    package var hasOptions: Bool { if case .some = ownOptions { true } else { false } }

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
        ownOptions = OwnOptions(options)
        self.request = request
    }
}
