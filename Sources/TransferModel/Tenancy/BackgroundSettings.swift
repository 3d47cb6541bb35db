/// What a tenant has decided about the background work of its clients.
package struct BackgroundSettings: Equatable, Sendable {
    /// Whether there is room for work that can wait.
    package enum Capacity: String, CaseIterable, Sendable {
        case idle
        case busy
    }

    package var permittedIdentifiers: PermittedIdentifiers
    /// Whether requests are taken and launched at all.
    package var areTasksOn: Bool
    package var capacity: Capacity
    /// The time that the assertions of a client in the background have together.
    package var assertionBudget: Duration
    /// The time that a run has.
    package var appRefreshTime: Duration
    package var processingTime: Duration
    /// The number of changes of the settings.
    package var revision: Int32

    /// The range of ``assertionBudget``, in seconds.
    package static let assertionBudgetRange: ClosedRange<Double> = 5...600
    /// The range of ``appRefreshTime``, in seconds.
    package static let appRefreshTimeRange: ClosedRange<Double> = 5...600
    /// The range of ``processingTime``, in seconds.
    package static let processingTimeRange: ClosedRange<Double> = 5...21_600

    package init(
        permittedIdentifiers: PermittedIdentifiers,
        areTasksOn: Bool,
        capacity: Capacity,
        assertionBudget: Duration,
        appRefreshTime: Duration,
        processingTime: Duration,
        revision: Int32
    ) {
        self.permittedIdentifiers = permittedIdentifiers
        self.areTasksOn = areTasksOn
        self.capacity = capacity
        self.assertionBudget = assertionBudget
        self.appRefreshTime = appRefreshTime
        self.processingTime = processingTime
        self.revision = revision
    }
}
