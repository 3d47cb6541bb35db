package import Foundation

/// The tasks that a list has, and their order.
package struct TaskFilter: Equatable, Sendable {
    /// The states that are listed; empty for all.
    package var states: [TransferState]
    /// The kind that is listed; nil for all.
    package var kind: TransferRequest.Kind?
    /// The client string of those that are listed; nil for any.
    package var clientString: ClientString?
    /// The time from which listed tasks were created; nil for any.
    package var createdFrom: Date?
    /// The time before which listed tasks were created; nil for any.
    package var createdBefore: Date?
    /// Whether the newest task comes first, instead of the oldest.
    package var isNewestFirst: Bool

    package init(
        states: [TransferState] = [],
        kind: TransferRequest.Kind? = nil,
        clientString: ClientString? = nil,
        createdFrom: Date? = nil,
        createdBefore: Date? = nil,
        isNewestFirst: Bool = false
    ) {
        self.states = states
        self.kind = kind
        self.clientString = clientString
        self.createdFrom = createdFrom
        self.createdBefore = createdBefore
        self.isNewestFirst = isNewestFirst
    }

    /// Whether nothing but one state, or none, decides, and the oldest task comes first.
    package var isOneStateAtMost: Bool {
        var plain = TaskFilter()
        plain.states = states
        return states.count <= 1 && self == plain
    }
}
