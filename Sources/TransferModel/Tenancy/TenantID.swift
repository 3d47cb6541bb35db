package import Foundation

/// The identifier of a tenant.
package struct TenantID: Hashable, Sendable, CustomStringConvertible {
    /// The value stored in `tenant.id`.
    package let uuid: UUID
    package init(_ uuid: UUID) { self.uuid = uuid }

    /// The identifier in lower-case hexadecimal with hyphens; also the name of the tenant's
    /// directory.
    package var description: String { uuid.text }
}
