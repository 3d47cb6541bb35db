import Foundation
import HTTPTypes
import Hummingbird
import Testing
import TransferModel
import TransferStore
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

/// The scopes of keys, and what each of them allows.
@Suite(.postgresSchema) struct KeyScopeTests {
    @Test func everyRouteHasAScopeAndEveryScopeIsDescribed() async throws {
        try await APIServer.run { server in
            let routes = server.api.router().routes
                .filter { route in
                    !OperationRoutes.paths.union(PageRoutes.paths).contains(route.path.description)
                }
                .map { "\($0.method.rawValue) \($0.path)" }
            #expect(Set(routes) == Set(RouteScopes.table.keys))
            let described = try APIServer.document().operations.filter(\.needsKey)
                .map { ($0.description, $0.scopes) }
            #expect(
                Dictionary(uniqueKeysWithValues: described)
                    == RouteScopes.table.mapValues { [$0.rawValue] }
            )
        }
    }

    /// Every operation is refused to a key with all scopes but its own, and is not refused to a key
    /// with its own alone.
    @Test func eachOperationNeedsItsScopeAndNoOther() async throws {
        try await APIServer.run { server in
            var alone: [KeyScope: APIServer.Tenant] = [:]
            var allBut: [KeyScope: APIServer.Tenant] = [:]
            for scope in KeyScope.allCases {
                alone[scope] = try await server.holder([scope])
                allBut[scope] = try await server.holder(
                    Set(KeyScope.allCases).subtracting([scope])
                )
            }
            for operation in try APIServer.document().operations where operation.needsKey {
                let scope = try #require(KeyScope(rawValue: operation.scopes.joined()))
                let path = operation.path.replacing(#/\{\w+\}/#, with: "\(UUID())")
                let refused = try await server.send(operation.method, path, as: allBut[scope])
                #expect(refused.status == 403, "\(operation)")
                #expect(refused.code == .insufficientScope, "\(operation)")
                let problem = try refused.json(ProblemDetails.self)
                #expect(problem.scope == scope.rawValue, "\(operation)")
                #expect(problem.detail?.contains("`\(scope.rawValue)`") == true)
                #expect(
                    refused.fields["www-authenticate"]
                        == #"Bearer error="insufficient_scope", scope="\#(scope.rawValue)""#
                )
                let allowed = try await server.send(operation.method, path, as: alone[scope])
                #expect(![401, 403].contains(allowed.status), "\(operation) \(allowed.text)")
            }
        }
    }

    @Test func aHeadNeedsTheScopeOfItsGet() async throws {
        try await APIServer.run { server in
            let writer = try await server.holder([.submit])
            let reader = try await server.holder([.read])
            #expect(try await server.status("HEAD", "/v1/tenant", as: writer) == 403)
            #expect(try await server.status("HEAD", "/v1/tenant", as: reader) == 200)
            // A path that does not exist, or a wrong method, is no question of scopes.
            #expect(try await server.status("GET", "/v1/nothing", as: writer) == 404)
            #expect(try await server.status("DELETE", "/v1/tenant", as: reader) == 405)
        }
    }

    /// Whoever may only submit neither reads the tasks of others nor takes them away.
    @Test func aPutThatReconnectsNeedsTheScopeOfAReconnection() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let id = try await server.submit(session)
            let submitter = try await server.holder([.submit])
            let path = "\(session)?reconnect=true"
            let refused = try await server.send("PUT", path, as: submitter)
            #expect(refused.status == 403)
            #expect(refused.code == .insufficientScope)
            #expect(try refused.json(ProblemDetails.self).scope == "control")
            #expect(!refused.text.contains(id.description))
            #expect(try await server.status("PUT", session, as: submitter) == 200)
            // The task is still nobody's.
            let both = try await server.holder([.submit, .control])
            let taken = try await server.send("PUT", path, as: both).json(SessionDocument.self)
            let items = try #require(taken.reconnection?.items)
            #expect(items.map { $0.ok?.id ?? $0.error?.taskID } == [id.description])
        }
    }

    @Test func aKeyWithoutNamedScopesMayDoEverythingButAdministrate() {
        #expect(KeyScope.defaults == Set(KeyScope.allCases).subtracting([.admin]))
        let key = NewAPIKey(id: "a", secretSHA256: [], name: "a")
        #expect(key.scopes == KeyScope.defaults)
    }
}

extension APIServer {
    /// Makes a key of the first tenant.
    func holder(
        _ scopes: Set<KeyScope> = Set(KeyScope.allCases),
        expiresAt: Date? = nil
    ) async throws -> Tenant {
        let key = APIKey.generate()
        _ = try await stores.keys.createAPIKey(
            NewAPIKey(
                id: key.id,
                secretSHA256: key.secretSHA256,
                name: "test",
                scopes: scopes,
                expiresAt: expiresAt
            ),
            tenant: first.id
        )
        return Tenant(id: first.id, key: key)
    }

    /// Returns the status of the answer to a request as `tenant`.
    func status(_ method: String, _ path: String, as tenant: Tenant) async throws -> Int {
        try await client.exchange(
            HTTPClient.request(
                method,
                path,
                fields: [("Authorization", "Bearer \(tenant.key.serialized)")],
                body: nil
            )
        ).status
    }
}
