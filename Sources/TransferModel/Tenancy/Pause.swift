package import Foundation

/// A time in which nothing begins: of a tenant, at a host, of a tenant at a host, or at all.
///
/// Submissions are accepted, and webhooks delivered.
package struct Pause: Equatable, Sendable {
    /// The part of the work that is paused.
    package struct Scope: Hashable, Sendable {
        /// The tenant whose tasks do not begin; nil for those of all tenants.
        package let tenant: TenantID?
        /// The host at which no task begins; nil for all hosts.
        package let host: HostKey?

        package init(tenant: TenantID?, host: HostKey?) {
            self.tenant = tenant
            self.host = host
        }

        /// Whether it has tasks of `tenant` at `host`.
        package func contains(_ tenant: TenantID, _ host: HostKey) -> Bool {
            (self.tenant.map { $0 == tenant } ?? true) && (self.host.map { $0 == host } ?? true)
        }
    }

    package let scope: Scope
    /// The host and port; nil if all hosts are paused.
    package let hostName: String?
    /// Whether the tenant has paused itself, rather than an operator; each ends its own pauses.
    package let isByTenant: Bool
    /// Whether what runs is given back to the queue, unless its request must not be sent twice.
    package let givesBack: Bool
    package let pausedAt: Date

    package init(
        scope: Scope,
        hostName: String?,
        isByTenant: Bool,
        givesBack: Bool,
        pausedAt: Date
    ) {
        self.scope = scope
        self.hostName = hostName
        self.isByTenant = isByTenant
        self.givesBack = givesBack
        self.pausedAt = pausedAt
    }
}
