package import Foundation

/// The identifier of a credential in the database; clients know a credential by its name.
package struct CredentialID: Hashable, Sendable {
    /// The value stored in `credential.id`.
    package let uuid: UUID
    package init(_ uuid: UUID) { self.uuid = uuid }
}
