import Foundation
import Testing
import TransferModel
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

/// What belongs to another tenant is answered exactly as what nobody has, by every operation of
/// `openapi.yaml` that names something.
@Suite(.postgresSchema) struct ForeignTests {
    /// The identifiers of what the second tenant has, by the path up to the parameter.
    private static func make(_ server: APIServer) async throws -> [String: String] {
        let other = server.second
        func made(_ method: String, _ path: String, _ body: String) async throws -> JSONValue {
            let answer = try await server.send(method, path, body, as: other)
            #expect((200..<300).contains(answer.status), "\(path): \(answer.text)")
            return try answer.json(JSONValue.self)
        }
        func id(_ value: JSONValue, _ name: String = "id") throws -> String {
            guard case .object(let members) = value, case .string(let id)? = members[name] else {
                Issue.record("no \(name) in \(value)")
                return ""
            }
            return id
        }
        _ = try await made("PUT", "/v1/sessions/theirs", "{}")
        let task = try await made(
            "POST",
            "/v1/sessions/theirs/tasks",
            #"{"url": "http://origin.example/a", "kind": "upload", "upload": {"staged": true}}"#
        )
        let lease = try await made("POST", "/v1/sessions/theirs/reconnect", "{}")
        let operation = try await made(
            "POST",
            "/v1/sessions/theirs/bulk-operations",
            #"{"verb": "suspend"}"#
        )
        let subscription = try await made(
            "POST",
            "/v1/subscriptions",
            #"{"url": "https://receiver.example/"}"#
        )
        _ = try await made("PUT", "/v1/clients/theirs", "{}")
        let assertion = try await made(
            "POST",
            "/v1/assertions",
            #"{"name": "a", "client": "default"}"#
        )
        _ = try await made(
            "PATCH",
            "/v1/tenant/background-settings",
            #"{"permitted_identifiers": ["*"]}"#
        )
        _ = try await made(
            "PUT",
            "/v1/background-tasks/handlers/theirs",
            #"{"kind": "app_refresh"}"#
        )
        _ = try await made("POST", "/v1/background-tasks/requests", #"{"identifier": "theirs"}"#)
        _ = try await made(
            "PUT",
            "/v1/credentials/theirs",
            #"{"kind": "bearer", "token": "s3cret"}"#
        )
        let key = try await made("POST", "/v1/keys", #"{"name": "theirs", "scopes": ["read"]}"#)
        return [
            "/v1/sessions/": "theirs", "/v1/tasks/": try id(task),
            "/v1/leases/": try id(lease, "lease_token"),
            "/v1/bulk-operations/": try id(operation), "/v1/subscriptions/": try id(subscription),
            "/v1/clients/": "theirs", "/v1/assertions/": try id(assertion),
            "/v1/background-tasks/handlers/": "theirs", "/v1/background-tasks/requests/": "theirs",
            "/v1/test-hooks/tasks/": try id(task),
            "/v1/credentials/": "theirs", "/v1/keys/": try id(key),
        ]
    }

    /// Bodies for operations that look at theirs first.
    private static let bodies = [
        "POST /v1/sessions/{identifier}/tasks": #"{"url": "http://origin.example/a"}"#,
        "POST /v1/sessions/{identifier}/bulk-operations": #"{"verb": "cancel"}"#,
        "POST /v1/sessions/{identifier}/events/ack": #"{"ack_token": "a"}"#,
        "PATCH /v1/sessions/{identifier}": #"{"configuration": {"timeout_for_request": 5}}"#,
        "PATCH /v1/tasks/{id}": #"{"priority": 0.1}"#,
        "PATCH /v1/leases/{id}": #"{"duration_seconds": 60}"#,
        "PATCH /v1/subscriptions/{id}": #"{"description": "mine now"}"#,
        "POST /v1/tasks/{id}/begin": #"{"disposition": "continue"}"#,
        "POST /v1/tasks/{id}/credential": #"{"disposition": "reject"}"#,
        "POST /v1/test-hooks/tasks/{id}/fail-next-attempt": #"{"code": "timed_out"}"#,
        "PUT /v1/credentials/{name}": #"{"kind": "bearer", "token": "mine"}"#,
        "PUT /v1/background-tasks/handlers/{identifier}": #"{"kind": "processing"}"#,
    ]

    @Test func everyOperationAnswersAsForWhatNobodyHas() async throws {
        try await APIServer.run { server in
            let foreign = try await Self.make(server)
            func credential() async throws -> CredentialDocument {
                try await server.send("GET", "/v1/credentials/theirs", as: server.second)
                    .json(CredentialDocument.self)
            }
            let stored = try await credential()
            var asked: Set<String> = []
            // What creates under a name comes last: then the name is also one's own.
            let operations = try APIServer.document().operations
                .filter { $0.needsKey && $0.path.contains("{") && $0.path != "/v1/hosts/{host}" }
            for operation in operations.filter({ $0.method != "PUT" })
                + operations.filter({ $0.method == "PUT" })
            {
                let prefix = String(operation.path.prefix { $0 != "{" })
                guard let theirs = foreign[prefix] else {
                    #expect(["/v1/deliveries/", "/v1/background-tasks/runs/"].contains(prefix))
                    continue
                }
                let nobodys =
                    UUID(uuidString: theirs) == nil
                    ? String(theirs.reversed()) : UUID.version7().uuidString.lowercased()
                var answers: [String] = []
                for name in [theirs, nobodys] {
                    let body =
                        Self.bodies[operation.description]
                        ?? (["POST", "PUT", "PATCH"].contains(operation.method) ? "{}" : nil)
                    let answer = try await server.send(
                        operation.method,
                        operation.path.replacing(#/\{\w+\}/#, with: name),
                        body
                    )
                    answers.append("\(answer.status) \(answer.code.map { "\($0)" } ?? "")")
                }
                #expect(answers[0] == answers[1], "\(operation)")
                asked.insert(prefix)
            }
            #expect(asked == Set(foreign.keys))
            // And nothing of it has changed.
            for (path, status) in [
                ("/v1/sessions/theirs", 200), ("/v1/clients/theirs", 200),
                ("/v1/credentials/theirs", 200), ("/v1/background-tasks/handlers/theirs", 200),
                ("/v1/background-tasks/requests/theirs", 200),
                ("/v1/tasks/\(foreign["/v1/tasks/"] ?? "")", 200),
                ("/v1/subscriptions/\(foreign["/v1/subscriptions/"] ?? "")", 200),
                ("/v1/bulk-operations/\(foreign["/v1/bulk-operations/"] ?? "")", 200),
            ] {
                let answer = try await server.send("GET", path, as: server.second)
                #expect(answer.status == status, "\(path)")
            }
            let subscription = try await server.send(
                "GET",
                "/v1/subscriptions/\(foreign["/v1/subscriptions/"] ?? "")",
                as: server.second
            ).json(SubscriptionDocument.self)
            #expect(subscription.description == nil)
            #expect(try await credential().updatedAt == stored.updatedAt)
        }
    }
}
