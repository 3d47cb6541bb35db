import Hummingbird
import TransferModel
import TransferStore
import TransferWire

/// The routes of `/v1/credentials` and `/v1/credentials/{name}`.
struct CredentialRoutes: Sendable {
    let stores: APIStores
    let tell: @Sendable (Set<Signal>) -> Void

    func add(to router: APIRouter) {
        router.put("/v1/credentials/{name}", scope: .control) { request, context in
            let name = try context.credentialName()
            let body = try await request.jsonBody()
            return try await put(name, body, tenant: context.requireTenant())
        }
        router.get("/v1/credentials/{name}", scope: .read) { _, context in
            try await get(context.credentialName(), tenant: context.requireTenant())
        }
        router.delete("/v1/credentials/{name}", scope: .control) { _, context in
            try await delete(context.credentialName(), tenant: context.requireTenant())
        }
        router.get("/v1/credentials", scope: .read, hasQuery: true) { request, context in
            let query = try QueryParameters(request, allowed: ["limit", "cursor"])
            let tenant = try context.requireTenant()
            return try await RequestResources.listing { try await list(query, tenant: tenant) }
        }
    }

    func put(_ name: String, _ body: [UInt8], tenant: TenantID) async throws -> Answer {
        let request = try await decoded(CredentialRequest.self, from: body)
        var errors: [FieldError] = []
        let credential = request.credential(at: "", into: &errors)
        let origins = request.origins(into: &errors)
        guard errors.isEmpty, let credential else { throw Problem(errors) }
        try stores.credentials.requireKey()
        let (stored, isCreated) = try await stores.credentials.putCredential(
            tenant: tenant,
            name: name,
            form: credential.form,
            origins: origins,
            secrets: credential.secrets
        )
        tell(.ofTasks)
        return try .json(
            CredentialDocument(stored),
            status: isCreated ? .created : .ok,
            location: isCreated ? APIPath.credential(name) : nil
        )
    }

    func get(_ name: String, tenant: TenantID) async throws -> Answer {
        guard let credential = try await stores.credentials.credential(tenant: tenant, name: name)
        else {
            throw Problem(.unknownCredential)
        }
        return try .json(CredentialDocument(credential))
    }

    func delete(_ name: String, tenant: TenantID) async throws -> Answer {
        guard try await stores.credentials.deleteCredential(tenant: tenant, name: name) else {
            throw Problem(.unknownCredential)
        }
        return Answer(status: .noContent)
    }

    func list(_ query: QueryParameters, tenant: TenantID) async throws -> Answer {
        let limit = try query.limit()
        var after: String?
        if let cursor = try query.cursor() {
            guard case .credential(let name) = cursor else { throw QueryParameters.foreignCursor }
            after = name
        }
        let credentials = try await stores.credentials.credentials(
            tenant: tenant,
            after: after,
            limit: limit
        )
        return try await .page(
            credentials,
            document: { CredentialDocument($0) },
            place: { $0.name ?? "" },
            cursor: { .credential(name: $0) },
            name: \.self
        )
    }
}

extension CredentialStore {
    /// Throws ``Problem`` when the service has no key to seal with.
    func requireKey() throws(Problem) {
        guard canSeal else {
            throw Problem(
                .credentialsNotConfigured,
                "The operator has to set TRANSFERD_SECRETS_KEY_FILE."
            )
        }
    }
}

extension CredentialDocument {
    fileprivate init(_ credential: Credential) {
        self.init(
            name: credential.name ?? "",
            kind: credential.form.kind.rawValue,
            createdAt: Timestamp(credential.createdAt),
            updatedAt: Timestamp(credential.updatedAt)
        )
        switch credential.form {
        case .bearer, .clientCertificate: break
        case .basic(let username): self.username = username
        case .header(let name): headerName = name
        case .oauth2RefreshToken(let endpoint):
            // Its query may be a secret as well.
            tokenURL = endpoint.url.split(separator: "?", omittingEmptySubsequences: false).first
                .map(String.init)
            clientID = endpoint.clientID
            scope = endpoint.scope
        }
        if !credential.origins.isEmpty { origins = credential.origins.map(\.description) }
        accessTokenExpiresAt = credential.accessExpiresAt.map(Timestamp.init)
        failure = credential.failure
    }
}
