package import Foundation

/// Names a credential in the database; clients know it by its name.
package struct CredentialID: Hashable, Sendable {
    /// As stored in `credential.id`.
    package let uuid: UUID
    package init(_ uuid: UUID) { self.uuid = uuid }
}
