import ChildProcess
import Foundation
import Testing
import TransferTestSupport
import TransferWire

/// A canary in every field of the API that may hold a secret, and then a look at everything that
/// the service writes.
@Suite(.timeLimit(.minutes(5))) struct CanaryTests {
    /// The canaries, by the field that holds each.
    private static let canaries = [
        "session header", "task header", "task query", "component", "upload body", "data body",
        "text body", "subscription header", "subscription query", "bearer", "password", "value",
        "client secret", "refresh token", "token query", "begin header", "begin query", "answer",
        "copy header", "copy query",
    ].reduce(into: [:]) { canaries, field in
        canaries[field] = "canary-" + field.replacingOccurrences(of: " ", with: "-") + "-7f3a"
    }

    /// The fields that their tenant reads back, in the URLs of tasks and subscriptions.
    private static let readBack: Set<String> = [
        "task query", "component", "subscription query", "begin query",
    ]

    private static func canary(_ field: String) throws -> String { try #require(canaries[field]) }

    /// Returns the fields whose canaries are in `text`, also as Base64 and in hexadecimal.
    private static func found(in text: String) -> Set<String> {
        var found = Set(canaries.filter { text.contains($0.value) }.keys)
        for (field, canary) in canaries {
            let bytes = Data(canary.utf8)
            let hex = bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }
            if text.contains(bytes.base64EncodedString()) || text.contains(hex.joined()) {
                found.insert(field)
            }
        }
        return found
    }

    @Test func noSecretIsWrittenAnywhere() async throws {
        let directory = try DataDirectory()
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        let receiver = try WebhookReceiver()
        origin.when("/ok", .response(body: .text("fetched")))
        origin.when("/asks", .response(401, headers: [("WWW-Authenticate", "Bearer")]))
        let log = "\(directory.path).log"
        let service = try await ServiceProcess(in: directory, ["--log-level", "trace"], log: log)
        let http = try HTTPClient(service, key: directory.apiKey())
        let story = Story(http: http, origin: origin, receiver: receiver)
        let ids = try await story.tell()

        // Everything was used as it was given.
        let requests = origin.log.now.requests
        for field in [
            "session header", "task header", "task query", "component", "upload body", "data body",
            "text body", "begin header", "begin query", "copy header", "copy query",
        ] {
            let canary = try Self.canary(field)
            #expect(
                requests.contains { request in
                    request.target.contains(canary)
                        || request.headers.contains { $0.value == canary }
                        || String(decoding: request.body, as: UTF8.self).contains(canary)
                },
                "\(field) was not sent"
            )
        }
        let message = try #require(receiver.received().first)
        #expect(message["X-Secret"] == (try Self.canary("subscription header")))

        for path in story.reads(ids) {
            let answer = try await http.send("GET", path)
            #expect(answer.status == 200, "\(path)")
            let found = Self.found(in: String(decoding: answer.body, as: UTF8.self))
            // The URL of a task or a subscription is its owner's, where it is read as such.
            let showsURLs =
                path.hasPrefix("/v1/tasks") || path.contains("/tasks?")
                || path.hasPrefix("/v1/subscriptions")
            #expect(found.subtracting(showsURLs ? Self.readBack : []) == [], "\(path)")
        }
        for message in receiver.received() {
            #expect(Self.found(in: String(decoding: message.body, as: UTF8.self)) == [])
        }
        let dump = try await Self.dump(directory)
        #expect(dump.contains(origin.url("/ok")))
        #expect(Self.found(in: dump) == [])
        for secret in story.signingSecrets.sorted() {
            let bytes = try #require(Data(base64Encoded: String(secret.dropFirst(6))))
            let hex = bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }
            #expect(!dump.contains(hex.joined()) && !dump.contains(secret.dropFirst(6)))
            #expect(!dump.contains(Data(secret.utf8).base64EncodedString()))
        }
        #expect(await service.terminate() == 0)
        let logged = try String(contentsOfFile: log, encoding: .utf8)
        #expect(logged.contains("/v1/sessions/{identifier}/tasks"))
        #expect(Self.found(in: logged) == [])
    }

    /// Returns what pg_dump writes of the whole database.
    private static func dump(_ directory: DataDirectory) async throws -> String {
        let file = "\(directory.path).sql"
        let program = try ChildProcess(
            "/usr/bin/env",
            ["pg_dump", "--file", file, "--dbname", directory.databaseURL],
            environment: Program.environment
        )
        #expect(await program.status() == 0)
        defer { try? FileManager.default.removeItem(atPath: file) }
        return try String(contentsOfFile: file, encoding: .utf8)
    }

    /// The use of every such field.
    private final class Story {
        let http: HTTPClient
        let origin: LoopbackOrigin
        let receiver: WebhookReceiver
        private(set) var signingSecrets: Set<String> = []
        private var subscription = ""

        init(http: HTTPClient, origin: LoopbackOrigin, receiver: WebhookReceiver) {
            self.http = http
            self.origin = origin
            self.receiver = receiver
        }

        /// Returns the identifiers of the tasks.
        func tell() async throws -> [String] {
            try await send(
                "PUT",
                "/v1/sessions/s",
                """
                {"configuration": {"additional_headers":
                    {"X-Shared": "\(canary("session header"))"}}}
                """
            )
            try await send("PUT", "/v1/sessions/e", #"{"kind": "ephemeral"}"#)
            try await subscribe()
            try await storeCredentials()
            var ids = try await submit(
                "s",
                """
                [{"url": "\(origin.url("/ok"))?token=\(canary("task query"))",
                  "headers": {"X-Own": "\(canary("task header"))"}},
                 {"components": {"scheme": "http", "host": "127.0.0.1", "port": \(origin.port),
                  "path": "/ok", "query_items": [{"name": "a", "value": "\(canary("component"))"}]}},
                 {"url": "\(origin.url("/absent"))?token=\(canary("task query"))"},
                 {"url": "\(origin.url("/ok"))?token=\(canary("task query"))", "autostart": false,
                  "headers": {"X-Own": "\(canary("task header"))"}},
                 {"kind": "upload", "url": "\(origin.url("/ok"))", "upload": {"body": {"base64":
                  "\(Data(canary("upload body").utf8).base64EncodedString())"}}},
                 {"kind": "upload", "url": "\(origin.url("/ok"))", "upload": {"copy": {
                  "url": "\(origin.url("/ok"))?token=\(canary("copy query"))",
                  "headers": {"X-Copy": "\(canary("copy header"))"}}}}]
                """
            )
            try await reach(ids[0], "completed")
            try await reach(ids[1], "completed")
            try await reach(ids[2], "failed")
            try await reach(ids[4], "completed")
            try await reach(ids[5], "completed")
            let data = try await submit(
                "e",
                """
                [{"kind": "data", "method": "POST", "url": "\(origin.url("/ok"))",
                  "body": {"json": {"a": "\(canary("data body"))"}}},
                 {"kind": "data", "method": "POST", "url": "\(origin.url("/ok"))",
                  "body": {"text": "\(canary("text body"))"}}]
                """
            )
            for id in data { try await reach(id, "completed") }
            ids += data
            ids += try await answers()
            _ = try await receiver.messages(ids.count)
            return ids
        }

        /// Has tasks ask, and answers with secrets.
        private func answers() async throws -> [String] {
            // Only a task with a time of its own asks.
            let soon = Timestamp(Date().addingTimeInterval(1)).rfc3339
            let ids = try await submit(
                "s",
                """
                [{"url": "\(origin.url("/ok"))", "asks_to_begin": true,
                  "earliest_begin_at": "\(soon)"},
                 {"url": "\(origin.url("/asks"))", "asks_for_credential": true}]
                """
            )
            try await reach(ids[0], "waiting_to_begin")
            try await send(
                "POST",
                "/v1/tasks/\(ids[0])/begin",
                """
                {"disposition": "use_new_request", "request": {
                    "url": "\(origin.url("/ok"))?b=\(canary("begin query"))",
                    "headers": {"X-Own": "\(canary("begin header"))"}}}
                """
            )
            try await reach(ids[0], "completed")
            try await reach(ids[1], "waiting_for_authentication")
            try await send(
                "POST",
                "/v1/tasks/\(ids[1])/credential",
                """
                {"disposition": "use", "credential":
                    {"kind": "bearer", "token": "\(canary("answer"))"}}
                """
            )
            return ids
        }

        private func subscribe() async throws {
            let made = try await send(
                "POST",
                "/v1/subscriptions",
                """
                {"url": "\(receiver.open())?token=\(canary("subscription query"))",
                 "headers": {"X-Secret": "\(canary("subscription header"))"}}
                """,
                key: "subscribe"
            )
            let document = try JSONDecoder().decode(SubscriptionDocument.self, from: made)
            subscription = document.id
            signingSecrets.insert(try #require(document.secret))
            let rotated = try await send(
                "POST",
                "/v1/subscriptions/\(subscription)/rotate-secret",
                "{}",
                key: "rotate"
            )
            signingSecrets.insert(
                try JSONDecoder().decode(SigningSecretDocument.self, from: rotated).secret
            )
        }

        private func storeCredentials() async throws {
            let credentials = [
                #"{"kind": "bearer", "token": "\#(canary("bearer"))"}"#,
                #"{"kind": "basic", "username": "me", "password": "\#(canary("password"))"}"#,
                #"{"kind": "header", "name": "X-Key", "value": "\#(canary("value"))"}"#,
                """
                {"kind": "oauth2_refresh_token", "client_id": "me",
                 "token_url": "https://login.example/?token=\(canary("token query"))",
                 "client_secret": "\(canary("client secret"))",
                 "refresh_token": "\(canary("refresh token"))"}
                """,
            ]
            for (number, body) in credentials.enumerated() {
                try await send("PUT", "/v1/credentials/c\(number)", body)
            }
        }

        /// Returns the paths of all that can be read.
        func reads(_ ids: [String]) -> [String] {
            [
                "/v1/sessions", "/v1/sessions/s", "/v1/sessions/e",
                "/v1/sessions/s/tasks?limit=100",
                "/v1/sessions/s/events", "/v1/sessions/e/events", "/v1/events", "/v1/tasks",
                "/v1/subscriptions", "/v1/subscriptions/\(subscription)",
                "/v1/subscriptions/\(subscription)/deliveries", "/v1/credentials",
                "/v1/credentials/c0", "/v1/credentials/c1", "/v1/credentials/c2",
                "/v1/credentials/c3", "/v1/hosts", "/v1/tenant", "/v1/clients", "/metrics",
                "/health",
            ]
                + ids.flatMap { ["/v1/tasks/\($0)", "/v1/tasks/\($0)/attempts"] }
        }

        private func canary(_ field: String) -> String { CanaryTests.canaries[field] ?? "" }

        @discardableResult
        private func send(
            _ method: String,
            _ path: String,
            _ body: String,
            key: String? = nil
        ) async throws -> Data {
            let answer = try await http.send(method, path, body, idempotencyKey: key)
            let text = String(decoding: answer.body, as: UTF8.self)
            #expect((200..<300).contains(answer.status), "\(path): \(text)")
            return Data(answer.body)
        }

        private func submit(_ session: String, _ body: String) async throws -> [String] {
            let answer = try await send(
                "POST",
                "/v1/sessions/\(session)/tasks",
                body,
                key: "submit-\(session)-\(body.hashValue)"
            )
            #expect(CanaryTests.found(in: String(decoding: answer, as: UTF8.self)) == [])
            return try JSONDecoder().decode(BatchReceipt.self, from: answer).items.map(\.id)
        }

        private func reach(_ id: String, _ state: String) async throws {
            try await eventually("task is \(state)") {
                let task: TaskDocument = try await http.get("/v1/tasks/\(id)")
                return task.state == state
            }
        }
    }
}
