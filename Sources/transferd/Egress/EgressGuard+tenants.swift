import Curl
import TransferModel

extension EgressGuard {
    /// Creates a guard that follows `policy`, and within it the rules of each tenant, and never
    /// leads to `own`; requests go through `proxy`, if there is one, except to the policy's direct
    /// hosts.
    init(
        _ policy: EgressPolicy,
        tenants: TenantRules,
        own: OwnEndpoints,
        proxy: CurlProxy?,
        refusals: EgressRefusals
    ) {
        self.init(
            allowsHost: { host, tenant in
                policy.allows(host: host)
                    && tenants.rules(of: tenant)?.allows(host: host) ?? true
            },
            allows: { address, tenant in
                guard policy.allows(address.bytes, port: address.port),
                    tenants.rules(of: tenant)?
                        .allows(address.bytes, port: address.port, as: policy) ?? true
                else { return false }
                return !policy.forms(of: address.bytes).contains {
                    own.contain($0, port: address.port)
                }
            },
            proxy: { host in policy.isReachedDirectly(host) ? nil : proxy },
            onRefusal: { host, tenant in refusals.note(host, for: tenant) }
        )
    }
}
