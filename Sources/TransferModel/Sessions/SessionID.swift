package import Foundation

/// The identifier of a session; a client knows a session by its `identifier` instead.
package struct SessionID: Hashable, Sendable {
    /// The value stored in `session.id`.
    package let uuid: UUID
    package init(_ uuid: UUID) { self.uuid = uuid }
}
