import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

/// Credentials that clients store in the service, and provide when a task asks.
@Suite(.postgresSchema) struct CredentialRouteTests {
    private static let bearer = #"{"kind": "bearer", "token": "s3cret-of-mine"}"#

    @Test func aCredentialIsStoredReplacedListedAndDeletedButNeverTold() async throws {
        try await APIServer.run { server in
            let path = "/v1/credentials/files"
            let created = try await server.send("PUT", path, Self.bearer)
            #expect(created.status == 201)
            #expect(created.fields["location"] == path)
            #expect(server.wakes.value == 1)
            let basic = """
                {"kind": "basic", "username": "me", "password": "s3cret",
                 "origins": ["https://Files.example", "http://localhost:8000"]}
                """
            let replaced = try await server.send("PUT", path, basic)
            #expect(replaced.status == 200)
            let document = try replaced.json(CredentialDocument.self)
            #expect(document.kind == "basic")
            #expect(document.username == "me")
            #expect(document.origins == ["https://files.example:443", "http://localhost:8000"])
            let oauth = """
                {"kind": "oauth2_refresh_token", "token_url": "https://login.example/token",
                 "client_id": "me", "client_secret": "s3cret", "refresh_token": "s3cret-too",
                 "scope": "read"}
                """
            try await server.send("PUT", "/v1/credentials/a.login", oauth)
            let page = try await server.send("GET", "/v1/credentials")
            #expect(
                try page.json(Page<CredentialDocument>.self).items.map(\.name) == [
                    "a.login", "files",
                ]
            )
            let first = try await server.send("GET", "/v1/credentials?limit=1")
                .json(Page<CredentialDocument>.self)
            let cursor = try #require(first.nextCursor)
            let second = try await server.send("GET", "/v1/credentials?limit=1&cursor=\(cursor)")
                .json(Page<CredentialDocument>.self)
            #expect(second.items.map(\.name) == ["files"])
            let one = try await server.send("GET", path)
            for text in [created.text, replaced.text, page.text, one.text] {
                #expect(!text.contains("s3cret"))
            }
            for (method, path) in [("GET", path), ("DELETE", path)] {
                let answer = try await server.send(method, path, as: server.second)
                #expect(answer.code == .unknownCredential)
            }
            #expect(try await server.send("DELETE", path).status == 204)
            #expect(try await server.send("GET", path).code == .unknownCredential)
        }
    }

    @Test func aCertificateIsStoredWithItsKey() async throws {
        let authority = try await TestAuthority()
        let identity = try await authority.issue()
        try await APIServer.run { server in
            func text(_ path: String) throws -> String {
                try String(contentsOfFile: path, encoding: .utf8)
                    .replacingOccurrences(of: "\n", with: "\\n")
            }
            let body = """
                {"kind": "client_certificate", "certificate": "\(try text(identity.certificatePath))",
                 "private_key": "\(try text(identity.keyPath))"}
                """
            let answer = try await server.send("PUT", "/v1/credentials/files", body)
            #expect(answer.status == 201)
            #expect(!answer.text.contains("PRIVATE"))
        }
    }

    @Test func noSecretCanBeReadInTheDatabase() async throws {
        try await APIServer.run { server in
            try await server.send("PUT", "/v1/credentials/files", Self.bearer)
            let connection = try await TestDatabase.current.connection()
            let rows = try await connection.execute("SELECT c::text AS text FROM credential c")
            let text: String = try rows[0].decode("text")
            #expect(!text.contains("s3cret"))
            // PostgreSQL shows bytes in hexadecimal.
            #expect(!text.contains("s3cret".utf8.map { String($0, radix: 16) }.joined()))
        }
    }

    @Test(arguments: [
        ("{}", "/kind required"),
        (#"{"kind": "magic"}"#, "/kind invalid_value"),
        (#"{"kind": "bearer"}"#, "/token required"),
        (#"{"kind": "bearer", "token": ""}"#, "/token invalid_value"),
        (#"{"kind": "bearer", "token": "a\nb"}"#, "/token invalid_value"),
        (#"{"kind": "bearer", "token": " a"}"#, "/token invalid_value"),
        (#"{"kind": "bearer", "token": "a", "password": "b"}"#, "/password invalid_value"),
        (#"{"kind": "basic", "username": "a:b", "password": ""}"#, "/username invalid_value"),
        (#"{"kind": "header", "name": "Host", "value": "a"}"#, "/name forbidden_header"),
        (#"{"kind": "header", "name": "User-Agent", "value": "a"}"#, "/name forbidden_header"),
        (#"{"kind": "header", "name": "accept", "value": "a"}"#, "/name forbidden_header"),
        (#"{"kind": "bearer", "token": "a", "origins": []}"#, "/origins invalid_value"),
        (
            #"{"kind": "bearer", "token": "a", "origins": ["https://a.example/path"]}"#,
            "/origins/0 invalid_url"
        ),
        (#"{"kind": "bearer", "token": "a", "more": 1}"#, "/more unknown_field"),
        (
            #"{"kind": "client_certificate", "certificate": "no", "private_key": "no"}"#,
            "/certificate invalid_value, /private_key invalid_value"
        ),
        (
            #"""
            {"kind": "client_certificate", "certificate": "no", "private_key":
             "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAA==\n-----END ENCRYPTED PRIVATE KEY-----"}
            """#,
            "/certificate invalid_value, /private_key invalid_value"
        ),
        (
            #"""
            {"kind": "client_certificate", "certificate": "no", "private_key":
             "-----BEGIN PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n-----END PRIVATE KEY-----"}
            """#,
            "/certificate invalid_value, /private_key invalid_value"
        ),
        (
            """
            {"kind": "oauth2_refresh_token", "token_url": "http://login.example/",
             "client_id": "a", "refresh_token": "b"}
            """,
            "/token_url invalid_url"
        ),
    ])
    func whatIsNoCredentialIsRefused(body: String, fault: String) async throws {
        try await APIServer.run { server in
            let answer = try await server.send("PUT", "/v1/credentials/files", body)
            #expect(answer.status == 422)
            #expect(answer.faults.joined(separator: ", ") == fault)
            #expect(try await server.send("GET", "/v1/credentials/files").status == 404)
        }
    }

    /// As with `--secrets plain`; nothing would protect them.
    @Test func withoutAKeyNoSecretOfACredentialIsTaken() async throws {
        let stores = Stores(Database(pool: TestDatabase.current.pool()))
        try await APIServer.run(stores: stores) { server in
            let put = try await server.send("PUT", "/v1/credentials/files", Self.bearer)
            #expect(put.status == 501)
            #expect(put.code == .credentialsNotConfigured)
            let id = try await asking(server, try await server.session())
            let answer = try await server.send(
                "POST",
                "/v1/tasks/\(id)/credential",
                #"{"disposition": "use", "credential": {"kind": "bearer", "token": "a"}}"#
            )
            #expect(answer.code == .credentialsNotConfigured)
            let connection = try await TestDatabase.current.connection()
            let rows = try await connection.execute("SELECT FROM credential")
            #expect(rows.isEmpty)
        }
    }

    @Test(arguments: ["a%20b", "%C3%BC", String(repeating: "a", count: 65)])
    func aNameThatDoesNotFitIsRefused(name: String) async throws {
        try await APIServer.run { server in
            let answer = try await server.send("PUT", "/v1/credentials/\(name)", Self.bearer)
            #expect(answer.faults == ["name invalid_identifier"])
        }
    }

    /// Makes a task whose origin has answered 401.
    private func asking(
        _ server: APIServer,
        _ session: String,
        because cause: TransferFailure? = nil
    ) async throws -> TaskID {
        let id = try await server.submit(session)
        let claim = try #require(try await server.claimAll().first { $0.task == id })
        var failure = TransferFailure(.httpStatus, "No.", httpStatus: 401)
        failure.challenges = [AuthenticationChallenge(scheme: "Basic", realm: "files")]
        let outcome = AttemptOutcome.askForCredential(
            cause ?? failure,
            Origin(scheme: "http", host: "origin.example", port: 80),
            named: nil,
            within: .seconds(3600)
        )
        let attemptEnd = AttemptEnd(task: id, fence: claim.fence, outcome: outcome)
        #expect(try await server.stores.completions.end([attemptEnd]) == [id])
        return id
    }

    @Test func whatAClientAnswersDecidesTheTask() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            try await server.send("PUT", "/v1/credentials/files", Self.bearer)
            for (body, state) in [
                (#"{"disposition": "use", "credential": "files"}"#, "queued"),
                (
                    """
                    {"disposition": "use",
                     "credential": {"kind": "basic", "username": "a", "password": "b"}}
                    """,
                    "queued"
                ),
                (#"{"disposition": "default"}"#, "failed"),
                (#"{"disposition": "reject"}"#, "failed"),
                (#"{"disposition": "cancel"}"#, "cancelled"),
            ] {
                let id = try await asking(server, session)
                let waiting = try await server.send("GET", "/v1/tasks/\(id)")
                    .json(TaskDocument.self)
                #expect(waiting.state == "waiting_for_authentication")
                #expect(waiting.error?.challenges?.first?.realm == "files")
                let path = "/v1/tasks/\(id)/credential"
                let answer = try await server.send("POST", path, body)
                #expect(try answer.json(TaskDocument.self).state == state, "\(body)")
                #expect(try await server.send("POST", path, body).code == .taskNotAsked)
                try await server.send("POST", "/v1/tasks/\(id)/cancel")
            }
            let events = try await server.send("GET", "\(session)/events").text
            #expect(events.contains("task.authentication_required"))
            #expect(!events.contains("s3cret"))
        }
    }

    /// A server that was not asked wants nothing.
    @Test func aTaskSaysWhyItsClientIsAsked() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let unusable = TransferFailure(.credentialUnusable, "There is no such credential.")
            for (cause, part) in [
                (nil, "The server wants a credential; the task fails without one by"),
                (unusable, "as the one to be sent cannot be used; the task fails without one by"),
            ] as [(TransferFailure?, String)] {
                let id = try await asking(server, session, because: cause)
                let task = try await server.send("GET", "/v1/tasks/\(id)").json(TaskDocument.self)
                #expect(task.state == "waiting_for_authentication")
                #expect(task.reason?.contains(part) == true, "\(task.reason ?? "")")
                try await server.send("POST", "/v1/tasks/\(id)/cancel")
            }
        }
    }

    @Test func anotherTenantsTaskIsNotAnswered() async throws {
        try await APIServer.run { server in
            let id = try await asking(server, try await server.session())
            for disposition in ["default", "reject", "cancel"] {
                let answer = try await server.send(
                    "POST",
                    "/v1/tasks/\(id)/credential",
                    "{\"disposition\": \"\(disposition)\"}",
                    as: server.second
                )
                #expect(answer.status == 404)
            }
            let body = #"{"disposition": "use", "credential": {"kind": "bearer", "token": "a"}}"#
            let path = "/v1/tasks/\(id)/credential"
            #expect(try await server.send("POST", path, body, as: server.second).status == 404)
            let task = try await server.stores.tasks.task(tenant: server.first.id, id: id)
            #expect(task?.state == .waitingForAuthentication)
        }
    }

    @Test func siblingsOfTheSameOriginGoOnWithTheAnswer() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let other = try await server.session("other")
            let id = try await asking(server, session)
            let sibling = try await asking(server, session)
            let stranger = try await asking(server, other)
            let body = #"{"disposition": "use", "credential": {"kind": "bearer", "token": "a"}}"#
            try await server.send("POST", "/v1/tasks/\(id)/credential", body)
            func state(_ id: TaskID) async throws -> TransferState? {
                try await server.stores.tasks.task(tenant: server.first.id, id: id)?.state
            }
            #expect(try await state(sibling) == .queued)
            #expect(try await state(stranger) == .waitingForAuthentication)
            // The new answer replaces the old one, and a session takes its own along.
            let later = try await asking(server, session)
            try await server.send("POST", "/v1/tasks/\(later)/credential", body)
            let connection = try await TestDatabase.current.connection()
            func count() async throws -> Int64 {
                try await connection.execute("SELECT count(*) AS count FROM credential")[0]
                    .decode("count")
            }
            #expect(try await count() == 1)
            try await server.send("DELETE", session)
            #expect(try await count() == 0)
        }
    }

    @Test(arguments: [
        (#"{"disposition": "use"}"#, "/credential required"),
        (#"{"disposition": "use", "credential": "absent"}"#, "/credential invalid_value"),
        // No text of PostgreSQL has a NUL.
        (#"{"disposition": "use", "credential": "\u0000"}"#, "/credential invalid_value"),
        (#"{"disposition": "use", "credential": "a\u0000b"}"#, "/credential invalid_value"),
        (#"{"disposition": "use", "credential": ""}"#, "/credential invalid_value"),
        (
            #"{"disposition": "use", "credential": "\#(String(repeating: "a", count: 65))"}"#,
            "/credential invalid_value"
        ),
        (
            #"{"disposition": "use", "credential": {"kind": "bearer"}}"#,
            "/credential/token required"
        ),
        (
            """
            {"disposition": "use",
             "credential": {"kind": "bearer", "token": "a", "origins": ["https://a.example"]}}
            """,
            "/credential/origins invalid_value"
        ),
        (#"{"disposition": "cancel", "credential": "absent"}"#, "/credential invalid_value"),
        (#"{"disposition": "maybe"}"#, "/disposition invalid_value"),
    ])
    func whatIsNoAnswerIsRefused(body: String, fault: String) async throws {
        try await APIServer.run { server in
            let id = try await asking(server, try await server.session())
            let answer = try await server.send("POST", "/v1/tasks/\(id)/credential", body)
            #expect(answer.status == 422)
            #expect(answer.faults == [fault])
        }
    }

    @Test func aTasksCredentialIsNamedAtItsBeginAndChanged() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let body = #"{"url": "http://origin.example/a", "credential": "one"}"#
            let id = try await server.submit(session, body)
            try await server.send("PATCH", "/v1/tasks/\(id)", #"{"credential": "two"}"#)
            #expect(try await server.claim().options.credential == "two")
            try await server.send("PATCH", "/v1/tasks/\(id)", #"{"credential": null}"#)
            let task = try await server.stores.tasks.task(tenant: server.first.id, id: id)
            #expect(task?.options.isEmpty == true)
            let answer = try await server.send(
                "PATCH",
                "/v1/tasks/\(id)",
                #"{"credential": "a b"}"#
            )
            #expect(answer.faults == ["/credential invalid_value"])
        }
    }
}
