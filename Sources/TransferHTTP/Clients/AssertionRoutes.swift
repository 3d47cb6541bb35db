import Foundation
import HTTPTypes
import Hummingbird
import TransferModel
import TransferStore
import TransferWire

/// The routes of `/v1/assertions`, and of what clients have leaked.
struct AssertionRoutes: Sendable {
    let stores: APIStores
    let tell: @Sendable (Set<Signal>) -> Void

    func add(to router: APIRouter) {
        router.post("/v1/assertions", scope: .control) { request, context in
            try await begin(request.jsonBody(), tenant: context.requireTenant())
        }
        router.get("/v1/assertions", scope: .read, hasQuery: true) { request, context in
            let query = try QueryParameters(request, allowed: [QueryParameters.client])
            return try await list(query, tenant: context.requireTenant())
        }
        router.get("/v1/assertions/{id}", scope: .read) { _, context in
            try await get(context.assertionID(), tenant: context.requireTenant())
        }
        router.delete("/v1/assertions/{id}", scope: .control) { _, context in
            try await end(context.assertionID(), tenant: context.requireTenant())
        }
        router.get("/v1/clients/{client}/assertion-leaks", scope: .read) { _, context in
            try await leaks(of: context.clientID(), tenant: context.requireTenant())
        }
    }

    func begin(_ body: [UInt8], tenant: TenantID) async throws -> Answer {
        let request = try await decoded(AssertionRequest.self, from: body)
        let (id, client) = try request.assertion()
        let result = try await stores.assertions.beginAssertion(
            id,
            named: request.name,
            by: client,
            of: tenant
        )
        switch result {
        case .begun(let assertion):
            tell(.ofClients)
            return try .json(
                AssertionDocument(assertion),
                status: .created,
                location: APIPath.assertion(assertion.id)
            )
        case .found(let assertion): return try .json(AssertionDocument(assertion))
        case .unknownClient: throw Problem.unknownClient
        case .clientNotRunning: throw Problem.clientNotRunning
        case .identifierTaken: throw Problem(.identifierTaken)
        }
    }

    func list(_ query: QueryParameters, tenant: TenantID) async throws -> Answer {
        let client = try query.client() ?? .default
        let held = try await stores.assertions.heldAssertions(of: client, tenant: tenant)
        if held.isEmpty { try await stores.clients.require(client, of: tenant) }
        return try .json(Page(items: held.map { AssertionDocument($0) }, nextCursor: nil))
    }

    func get(_ id: AssertionID, tenant: TenantID) async throws -> Answer {
        guard let assertion = try await stores.assertions.assertion(id, of: tenant) else {
            throw Problem(.unknownAssertion)
        }
        return try .json(AssertionDocument(assertion))
    }

    func end(_ id: AssertionID, tenant: TenantID) async throws -> Answer {
        guard try await stores.assertions.endAssertion(id, of: tenant) else {
            throw Problem(.unknownAssertion)
        }
        tell(.ofClients)
        return Answer(status: .noContent)
    }

    func leaks(of client: ClientID, tenant: TenantID) async throws -> Answer {
        let leaks = try await stores.assertions.assertionLeaks(of: client, tenant: tenant)
        if leaks.isEmpty { try await stores.clients.require(client, of: tenant) }
        return try .json(Page(items: leaks.map { AssertionLeakDocument($0) }, nextCursor: nil))
    }
}

extension AssertionRequest {
    /// Returns the assertion that this request asks for.
    ///
    /// - Throws: ``Problem`` with everything that is wrong.
    fileprivate func assertion() throws(Problem) -> (AssertionID, ClientID) {
        var errors: [FieldError] = []
        if !Assertion.isName(name) {
            errors.append(FieldError(pointer: "/name", .invalidValue, Assertion.nameRule))
        }
        let client = client.map { ClientID($0) } ?? .default
        if client == nil {
            errors.append(FieldError(pointer: "/client", .invalidIdentifier, ClientRule.name))
        }
        let uuid = id.map { $0.utf8.count == 36 ? UUID(uuidString: $0) : nil } ?? .version7()
        if uuid == nil {
            errors.append(FieldError(pointer: "/id", .invalidIdentifier, "Must be a UUID."))
        }
        guard errors.isEmpty, let client, let uuid else { throw Problem(errors) }
        return (AssertionID(uuid), client)
    }
}

extension AssertionDocument {
    init(_ assertion: Assertion) {
        self.init(
            id: assertion.id.description,
            client: assertion.client.name,
            name: assertion.name,
            state: assertion.state.rawValue,
            beganAt: Timestamp(assertion.beganAt),
            endedAt: assertion.endedAt.map(Timestamp.init),
            expiresAt: assertion.expiresAt.map(Timestamp.init),
            remainingSeconds: assertion.remaining.map { $0 / .seconds(1) }
        )
    }
}

extension AssertionLeakDocument {
    fileprivate init(_ leak: AssertionLeak) {
        self.init(name: leak.name, count: leak.count, leakedAt: Timestamp(leak.leakedAt))
    }
}
