package import Foundation

/// The identifier of a transfer task, also for clients.
package struct TaskID: Hashable, Sendable, CustomStringConvertible {
    /// The value stored in `task.id`: version 7, so that identifiers sort by submission.
    package let uuid: UUID
    package init(_ uuid: UUID) { self.uuid = uuid }

    /// The identifier in lower-case hexadecimal with hyphens, as in the API and in part file names.
    package var description: String { uuid.text }
}
