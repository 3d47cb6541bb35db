package import Foundation

/// What a client wants changed of a task that has not ended; nil leaves it as it is.
package struct TaskChange: Sendable {
    /// A new client string, or none.
    package var clientString: ClientString??
    /// A new earliest begin, or none: now.
    package var earliestBeginAt: Date??
    package var priority: TaskPriority?
    /// The name of another credential, or none of its own; a task that waits for one goes on.
    package var credential: String??
    /// A new limit of its own, or none: that of its session holds.
    package var bytesPerSecondMax: Int64??

    package init() {}
}
