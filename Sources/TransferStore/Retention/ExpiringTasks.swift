package import TransferModel

/// Tasks of a session that are kept no longer, and where to look on.
package struct ExpiringTasks: Sendable {
    package let remains: [TaskRemains]
    /// The last task looked at; nil when there is none behind it.
    package let position: TaskID?
}
