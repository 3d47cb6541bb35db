package import Foundation

/// The identifier of one submission of a request; a request that replaces it has another one.
package struct BackgroundTaskRequestID: Hashable, Sendable, CustomStringConvertible {
    package let uuid: UUID

    package init(_ uuid: UUID) { self.uuid = uuid }

    package var description: String { uuid.text }
}
