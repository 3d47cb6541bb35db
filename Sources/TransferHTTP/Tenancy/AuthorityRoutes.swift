import HTTPTypes
import Hummingbird
import TransferModel
import TransferStore
import TransferWire

/// The routes of `/v1/tenant/certificate-authorities`: those that the tenant's tasks trust besides
/// the system's.
struct AuthorityRoutes: Sendable {
    private static let path = "/v1/tenant/certificate-authorities"
    let stores: APIStores

    func add(to router: APIRouter) {
        router.get(Self.path, scope: .read) { _, context in
            try await get(tenant: context.requireTenant())
        }
        router.put(Self.path, scope: .control) { request, context in
            try await put(request.jsonBody(), tenant: context.requireTenant())
        }
        router.delete(Self.path, scope: .control) { _, context in
            try await stores.tenants.setCertificateAuthorities(nil, tenant: context.requireTenant())
            return Answer(status: .noContent)
        }
    }

    func get(tenant: TenantID) async throws -> Answer {
        guard let authorities = try await stores.tenants.certificateAuthorities(tenant: tenant)
        else {
            throw Problem(.noCertificateAuthorities)
        }
        return try .json(AuthoritiesDocument(authorities))
    }

    func put(_ body: [UInt8], tenant: TenantID) async throws -> Answer {
        let text = try await decoded(AuthoritiesRequest.self, from: body).certificateAuthorities
        guard let authorities = CertificateAuthorities(pem: Array(text.utf8)) else {
            throw Problem([
                FieldError(
                    pointer: "/certificate_authorities",
                    .invalidValue,
                    CertificateAuthorities.rule
                )
            ])
        }
        try await stores.tenants.setCertificateAuthorities(authorities, tenant: tenant)
        return try .json(AuthoritiesDocument(authorities))
    }
}

extension AuthoritiesDocument {
    fileprivate init(_ authorities: CertificateAuthorities) {
        self.init(
            certificateAuthorities: String(decoding: authorities.pem, as: UTF8.self),
            count: authorities.count
        )
    }
}
