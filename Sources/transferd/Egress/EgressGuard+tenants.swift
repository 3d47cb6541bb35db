import Curl
import TransferModel

extension EgressGuard {
    /// Creates a guard that follows `policy`, and within it the rules of each tenant, and never leads
    /// to `own`.
    init(
        _ policy: EgressPolicy,
        tenants: TenantRules,
        own: OwnEndpoints,
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
            onRefusal: { host, tenant in refusals.note(host, for: tenant) }
        )
    }
}
