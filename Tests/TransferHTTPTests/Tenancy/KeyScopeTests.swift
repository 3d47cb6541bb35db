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
            let open = routes.filter { $0.scope == nil }
            #expect(Set(open.map(\.path)) == ProbeRoutes.paths.union(PageRoutes.paths))
            let scopes = routes.compactMap { route in
                route.scope.map { (route.description, [$0.rawValue]) }
            }
            let described = try APIServer.document().operations.filter(\.needsKey)
                .map { ($0.description, $0.scopes) }
            #expect(
                Dictionary(uniqueKeysWithValues: scopes)
                    == Dictionary(uniqueKeysWithValues: described)
            )
        }
    }

    /// By mistake, nothing becomes open to whoever has no key, nor to whoever has any.
    @Test func aRouteThatIsNotListedAsOpenIsForAdministrators() {
        let router = APIRouter()
        for path in ["/livez", "/", "/page/{file}", "/v1/secrets", "/page", "/livez/all"] {
            router.get(withoutKey: path) { _, _ in HTTPResponse.Status.ok }
        }
        #expect(router.routes.map(\.scope) == [nil, nil, nil, .admin, .admin, .admin])
        #expect(RouteTable(router.routes).entry(of: "/v1/secrets")?.scopes["HEAD"] == .admin)
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

    /// A shorter retention would end results, and the headers of waiting tasks would be gone.
    @Test func aPutThatChangesASessionNeedsTheScopeOfAChange() async throws {
        try await APIServer.run { server in
            let submitter = try await server.holder([.submit])
            let path = "/v1/sessions/kept"
            let body = #"""
                {"configuration": {
                    "result_retention": 31536000.0004, "timeout_for_request": 1.5,
                    "retry": {"attempts_max": 3, "delay_base": 0.1},
                    "tls": {"minimum_version": "1.3"}, "max_connections_per_host": 2,
                    "total_bytes_per_second_max": 5000,
                    "additional_headers": {"C": "d", "A": "b"}}}
                """#
            // A client makes its session, and finds it at each start.
            let made = try await server.send("PUT", path, body, as: submitter)
            #expect(made.status == 201)
            for same in [body, "", "{}", #"{"kind": "background"}"#] {
                let found = try await server.send("PUT", path, same, as: submitter)
                #expect(found.status == 200, "\(same)")
                #expect(found.fields["etag"] == made.fields["etag"], "\(same)")
            }
            for other in [
                #"{"configuration": {"result_retention": 60}}"#, #"{"configuration": {}}"#,
                body.replacing(#""A": "b""#, with: #""A": "c""#),
                body.replacing(#""attempts_max": 3"#, with: #""attempts_max": 4"#),
            ] {
                let refused = try await server.send("PUT", path, other, as: submitter)
                #expect(refused.status == 403, "\(other)")
                #expect(refused.code == .insufficientScope)
                #expect(try refused.json(ProblemDetails.self).scope == "control")
            }
            let absent = [("If-None-Match", "*")]
            let short = #"{"configuration": {"result_retention": 60}}"#
            let exists = try await server.send("PUT", path, short, as: submitter, fields: absent)
            #expect(exists.code == .preconditionFailed)
            let kind = #"{"kind": "ephemeral", "configuration": {"result_retention": 60}}"#
            let differs = try await server.send("PUT", path, kind, as: submitter)
            #expect(differs.code == .sessionKindDiffers)
            let kept = try await server.send("GET", path)
            #expect(kept.fields["etag"] == made.fields["etag"])
            let configuration = try kept.json(SessionDocument.self).configuration
            #expect(configuration.resultRetention == 31_536_000)
            #expect(configuration.headerNames == ["A", "C"])
            let both = try await server.holder([.submit, .control])
            #expect(try await server.send("PUT", path, short, as: both).status == 200)
            let changed = try await server.send("GET", path).json(SessionDocument.self)
            #expect(changed.configuration.resultRetention == 60)
        }
    }

    /// A program that names a default finds the session that its operator made without it.
    @Test func aPutThatSpellsOutADefaultChangesNothing() async throws {
        try await APIServer.run { server in
            let submitter = try await server.holder([.submit])
            let defaults = #"""
                "http_errors": "fail", "redirects_max": 10, "keeps_cookies": false,
                "sends_body_to_other_origins": false, "resumable_upload": "off",
                "timeout_for_low_speed": 30, "asks_to_begin": false, "decompresses": false,
                "segments_max": 8, "tls": {"minimum_version": "1.2"}
                """#
            for (kind, more, other) in [
                ("background", #""waits_for_connectivity": true"#, #""segments_max": 7"#),
                ("ephemeral", #""retry": {"delay_base": 1}"#, #""waits_for_connectivity": true"#),
            ] {
                let path = "/v1/sessions/\(kind)"
                func put(_ options: String) async throws -> HTTPClient.Answer {
                    let body = #"{"kind": "\#(kind)", "configuration": {\#(options)}}"#
                    return try await server.send("PUT", path, body, as: submitter)
                }
                let made = try await put("")
                #expect(made.status == 201)
                let found = try await put("\(defaults), \(more)")
                #expect(found.status == 200)
                #expect(found.fields["etag"] == made.fields["etag"])
                #expect(try await put(other).code == .insufficientScope)
            }
        }
    }

    /// Whoever names the origin reads what is sent there.
    @Test func anUploadOfAKeptFileNeedsTheScopeOfAReader() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let download = try await server.submit(session)
            try await server.complete([1, 2, 3])
            let submitter = try await server.holder([.submit])
            let both = try await server.holder([.submit, .read])
            let path = "\(session)/tasks"
            let plain = #"{"url": "http://origin.example/"}"#
            let asLines = [("Content-Type", TaskStream.mediaType)]
            func upload(_ source: String) -> String {
                #"{"kind": "upload", "url": "http://origin.example/", "upload": \#(source)}"#
            }
            for source in [#"{"copy": {"task": "\#(download)"}}"#, #"{"path": "reports/r.txt"}"#] {
                let task = upload(source)
                for body in [task, "[\(plain), \(task)]"] {
                    let refused = try await server.send("POST", path, body, as: submitter)
                    #expect(refused.status == 403, "\(body)")
                    #expect(refused.code == .insufficientScope)
                    #expect(try refused.json(ProblemDetails.self).scope == "read")
                }
                let refused = try await server.send(
                    "POST",
                    path,
                    "\(plain)\n\(task)\n",
                    as: submitter,
                    fields: asLines
                )
                #expect(refused.code == .insufficientScope)
                let problem = try refused.json(ProblemDetails.self)
                #expect(problem.scope == "read" && problem.line == 2)
            }
            let before = try await server.send("GET", session).json(SessionDocument.self)
            #expect(before.outstanding == 0)
            let kept = upload(#"{"path": "reports/r.txt"}"#)
            #expect(try await server.send("POST", path, kept, as: both).status == 202)
            let lines = try await server.send("POST", path, kept, as: both, fields: asLines)
            #expect(lines.status == 202)
            // These bytes are the caller's own.
            for source in [
                #"{"body": {"text": "a"}}"#, #"{"staged": true}"#,
                #"{"copy": {"url": "http://source.example/"}}"#,
            ] {
                let answer = try await server.send("POST", path, upload(source), as: submitter)
                #expect(answer.status == 202, "\(source)")
            }
        }
    }

    @Test func aKeyWithoutNamedScopesMayDoEverythingButAdministrate() {
        #expect(KeyScope.defaults == Set(KeyScope.allCases).subtracting([.admin]))
        let key = NewAPIKey(id: "a", secretSHA256: [], name: "a")
        #expect(key.scopes == KeyScope.defaults)
    }
}

extension APIRouter.Route {
    /// The route as the document calls its operation.
    var description: String { "\(method.rawValue) \(path)" }
}

extension APIServer {
    /// Makes a key of the first tenant.
    func holder(
        _ scopes: Set<KeyScope> = Set(KeyScope.allCases),
        expiresAt: Date? = nil,
        requestsPerSecondMax: Int? = nil
    ) async throws -> Tenant {
        let key = APIKey.generate()
        _ = try await stores.keys.createAPIKey(
            NewAPIKey(
                id: key.id,
                secretSHA256: key.secretSHA256,
                name: "test",
                scopes: scopes,
                expiresAt: expiresAt,
                requestsPerSecondMax: requestsPerSecondMax
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
