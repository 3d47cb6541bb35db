/// The settings that a session's tasks have in common.
package struct SessionConfiguration: Equatable, Sendable {
    /// The longest time without a byte; `URLSessionConfiguration.timeoutIntervalForRequest`.
    package var timeoutForRequest = timeoutForRequestDefault
    /// The longest time for a task, over all its attempts; `timeoutIntervalForResource`.
    package var timeoutForResource = timeoutForResourceDefault
    /// The headers sent with every task of the session; a task's own header of that name wins.
    package var additionalHeaders: [HTTPHeader] = []
    /// The other common options, without the two timeouts, which are always set.
    package var options = TransferOptions()
    /// The most bytes per second of all running tasks together; nil for no limit.
    package var totalBytesPerSecondMax: Int64?
    /// The container that an extension shares with its app; `sharedContainerIdentifier`.
    package var sharedContainerIdentifier: String?
    /// The time for which an ended task is kept with its result; nil for the service's default.
    package var resultRetention: Duration?
    /// The most connections of all the session's tasks to one host; nil for as many as the host may
    /// have.
    ///
    /// `URLSessionConfiguration.httpMaximumConnectionsPerHost`.
    package var maxConnectionsPerHost: Int?
    /// Whether the session's tasks wait until there is nothing else to do;
    /// `URLSessionConfiguration.isDiscretionary`.
    package var isDiscretionary = false

    /// The default of the time without a byte after which an attempt fails.
    package static let timeoutForRequestDefault: Duration = .seconds(60)
    /// The default of the time for a whole task.
    package static let timeoutForResourceDefault: Duration = .seconds(7 * 24 * 3600)
    /// The default of the time for which an ended task and its result are kept.
    package static let resultRetentionDefault: Duration = .seconds(7 * 24 * 3600)
    /// The allowed values of ``maxConnectionsPerHost``.
    package static let maxConnectionsPerHostRange = 1...256
    /// The allowed retention in seconds: a minute to ten years.
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

extension SessionConfiguration {
    /// Returns this configuration with everything that holds where it says nothing: two that only
    /// differ in whether a default is spelled out are equal then.
    package func withDefaults(of kind: Session.Kind) -> SessionConfiguration {
        var configuration = self
        // Which methods may be repeated is no option of a session.
        configuration.options = options.inForce(in: kind, method: "GET")
        return configuration
    }
}
