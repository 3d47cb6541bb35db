/// What a session's tasks have in common.
package struct SessionConfiguration: Equatable, Sendable {
    /// Longest time without a byte; `URLSessionConfiguration.timeoutIntervalForRequest`.
    package var timeoutForRequest = timeoutForRequestDefault
    /// Longest time for a task, over all its attempts; `timeoutIntervalForResource`.
    package var timeoutForResource = timeoutForResourceDefault
    /// Sent with every task of the session; a task's own header of that name wins.
    package var additionalHeaders: [HTTPHeader] = []
    /// What else its tasks have in common; without the two timeouts, which are always there.
    package var options = TransferOptions()
    /// The most bytes in a second of all its running tasks together; nil for any.
    package var totalBytesPerSecondMax: Int64?
    /// What an extension shares with its app; `sharedContainerIdentifier`.
    package var sharedContainerIdentifier: String?
    /// How long an ended task is kept, with its result; nil for as long as the service says.
    package var resultRetention: Duration?
    /// Connections of all its tasks to one host, at most; nil for as many as the host may have.
    ///
    /// `URLSessionConfiguration.httpMaximumConnectionsPerHost`.
    package var maxConnectionsPerHost: Int?
    /// Whether its tasks wait until there is nothing else to do;
    /// `URLSessionConfiguration.isDiscretionary`.
    package var isDiscretionary = false

    package static let timeoutForRequestDefault: Duration = .seconds(60)
    package static let timeoutForResourceDefault: Duration = .seconds(7 * 24 * 3600)
    package static let resultRetentionDefault: Duration = .seconds(7 * 24 * 3600)
    package static let maxConnectionsPerHostRange = 1...256
    /// A minute to ten years.
    package static let resultRetentionSeconds: ClosedRange<Double> = 60...315_360_000

    package init(
        timeoutForRequest: Duration = timeoutForRequestDefault,
        timeoutForResource: Duration = timeoutForResourceDefault,
        additionalHeaders: [HTTPHeader] = [],
        options: TransferOptions = TransferOptions(),
        totalBytesPerSecondMax: Int64? = nil,
        sharedContainerIdentifier: String? = nil,
        resultRetention: Duration? = nil,
        maxConnectionsPerHost: Int? = nil,
        isDiscretionary: Bool = false
    ) {
        self.timeoutForRequest = timeoutForRequest
        self.timeoutForResource = timeoutForResource
        self.additionalHeaders = additionalHeaders
        self.options = options
        self.totalBytesPerSecondMax = totalBytesPerSecondMax
        self.sharedContainerIdentifier = sharedContainerIdentifier
        self.resultRetention = resultRetention
        self.maxConnectionsPerHost = maxConnectionsPerHost
        self.isDiscretionary = isDiscretionary
    }
}
