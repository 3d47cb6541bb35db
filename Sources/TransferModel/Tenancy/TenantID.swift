package import Foundation

/// Names a tenant.
package struct TenantID: Hashable, Sendable, CustomStringConvertible {
    /// As stored in `tenant.id`.
    package let uuid: UUID
    package init(_ uuid: UUID) { self.uuid = uuid }

    /// Lower-case hexadecimal with hyphens; also the name of its directory.
    package var description: String { uuid.text }
}
