package import Foundation

/// The identifier of one launch of a background task.
package struct BackgroundTaskRunID: Hashable, Sendable, CustomStringConvertible {
    package let uuid: UUID

    package init(_ uuid: UUID) { self.uuid = uuid }

    package var description: String { uuid.text }
}
