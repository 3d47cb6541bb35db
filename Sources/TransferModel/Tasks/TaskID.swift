package import Foundation

/// Names a transfer task, for clients too.
package struct TaskID: Hashable, Sendable, CustomStringConvertible {
    /// As stored in `task.id`: version 7, so that order of identifiers is order of submission.
    package let uuid: UUID
    package init(_ uuid: UUID) { self.uuid = uuid }

    /// Lower-case hexadecimal with hyphens, as in the API and in part file names.
    package var description: String { uuid.text }
}
