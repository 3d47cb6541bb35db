package import Foundation

/// The identifier of an assertion.
package struct AssertionID: Hashable, Sendable, CustomStringConvertible {
    package let uuid: UUID

    package init(_ uuid: UUID) { self.uuid = uuid }

    package var description: String { uuid.text }
}
