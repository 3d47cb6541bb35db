import Postgres
import Testing
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

@Suite(.postgresSchema) struct IdempotencyTests {
    private static let body = #"{"url": "http://origin.example/a"}"#

    @Test func fiftyParallelPostsWithOneKeyMakeOneTask() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let answers = try await withThrowingTaskGroup(of: HTTPClient.Answer.self) { group in
                for _ in 0..<50 {
                    group.addTask {
                        try await server.sendPatiently(
                            "POST",
                            "\(session)/tasks",
                            Self.body,
                            fields: [("Idempotency-Key", "\"k-1\"")]
                        )
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            let accepted = answers.filter { $0.status == 202 }
            #expect(!accepted.isEmpty)
            #expect(answers.allSatisfy { $0.status == 202 || $0.code == .idempotencyKeyInUse })
            #expect(Set(accepted.map(\.text)).count == 1)
            #expect(accepted.count(where: { $0.fields["idempotency-replayed"] == nil }) == 1)
            let tasks = try await server.send("GET", "\(session)/tasks")
                .json(Page<TaskDocument>.self)
            #expect(tasks.items.count == 1)
        }
    }

    @Test func keyBelongsToOneRequestOfOneTenant() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            _ = try await server.session(as: server.second)
            let key = [("Idempotency-Key", "k")]
            let first = try await server.send(
                "POST",
                "\(session)/tasks",
                Self.body,
                fields: key
            )
            // Quoted or not, it is the same key.
            let again = try await server.send(
                "POST",
                "\(session)/tasks",
                Self.body,
                fields: [("Idempotency-Key", "\"k\"")]
            )
            #expect(again.body == first.body)
            #expect(again.fields["location"] == first.fields["location"])
            #expect(again.fields["idempotency-replayed"] == "true")
            let other = try await server.send(
                "POST",
                "\(session)/tasks",
                Self.body + " ",
                fields: key
            )
            #expect(other.status == 422)
            #expect(other.code == .idempotencyKeyReused)
            #expect(other.detail?.contains("with a new key") == true)
            let elsewhere = try await server.send(
                "POST",
                "/v1/subscriptions",
                Self.body,
                fields: key
            )
            #expect(elsewhere.code == .idempotencyKeyReused)
            let tenant = try await server.send(
                "POST",
                "\(session)/tasks",
                Self.body,
                as: server.second,
                fields: key
            )
            #expect(tenant.status == 202)
            #expect(tenant.body != first.body)
        }
    }

    /// Its tasks would not be under the lease that it names.
    @Test func aRepetitionWithAnotherLeaseIsAnotherRequest() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            func submit(_ lease: [(String, String)]) async throws -> HTTPClient.Answer {
                try await server.send(
                    "POST",
                    "\(session)/tasks",
                    Self.body,
                    fields: lease + [("Idempotency-Key", "k")]
                )
            }
            let token = ("Lease-Token", "6f1f2a52-26a4-4f7b-9c0e-0f8e6a9d3b11")
            let first = try await submit([token, ("Lease-Owner", "pod-7")])
            #expect(first.status == 202)
            let again = try await submit([token, ("Lease-Owner", "pod-7")])
            #expect(again.fields["idempotency-replayed"] == "true")
            #expect(again.body == first.body)
            let others = [
                [
                    ("Lease-Token", "6f1f2a52-26a4-4f7b-9c0e-0f8e6a9d3b12"),
                    ("Lease-Owner", "pod-7"),
                ],
                [token, ("Lease-Owner", "pod-8")],
                [token, ("Lease-Owner", "pod-7"), ("Lease-Seconds", "30")],
                [],
            ]
            for other in others {
                let refused = try await submit(other)
                #expect(refused.status == 422, "\(other)")
                #expect(refused.code == .idempotencyKeyReused, "\(other)")
            }
        }
    }

    @Test(arguments: ["application/json", TaskStream.mediaType])
    func aThousandReceiptsAreRepeatedAndTakeNoRoom(type: String) async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let tasks = (0..<1000).map { #"{"url": "http://origin.example/\#($0)"}"# }
            let isList = type == "application/json"
            let body = tasks.joined(separator: isList ? "," : "\n")
            func submit() async throws -> HTTPClient.Answer {
                try await server.send(
                    "POST",
                    "\(session)/tasks",
                    isList ? "[\(body)]" : body,
                    fields: [("Idempotency-Key", "k"), ("Content-Type", type)]
                )
            }
            let first = try await submit()
            let again = try await submit()
            #expect(first.status == 202)
            #expect(first.body.count > 100_000)
            #expect(again.fields["idempotency-replayed"] == "true")
            #expect(again.body == first.body)
            let connection = try await TestDatabase.current.connection()
            let kept = try await connection.execute(
                "SELECT octet_length(body) AS bytes FROM idempotency_key"
            )
            #expect(try kept.map { try $0.decode("bytes", as: Int32.self) < 500 } == [true])
        }
    }

    /// One key of one tenant never stands for two requests, whichever of its clients sends them.
    @Test(arguments: ["application/json", TaskStream.mediaType])
    func anotherClientsRequestIsAnotherOne(type: String) async throws {
        try await APIServer.run { server in
            let fields = [("Idempotency-Key", "k"), ("Content-Type", type)]
            for client in ["a", "b"] {
                try await server.send("PUT", "/v1/clients/\(client)")
                try await server.send("PUT", "/v1/sessions/photos?client=\(client)")
            }
            func submit(_ client: String) async throws -> HTTPClient.Answer {
                let path = "/v1/sessions/photos/tasks?client=\(client)"
                return try await server.send("POST", path, Self.body, fields: fields)
            }
            #expect(try await submit("a").status == 202)
            let other = try await submit("b")
            #expect(other.status == 422)
            #expect(other.code == .idempotencyKeyReused)
            #expect(try await submit("a").fields["idempotency-replayed"] == "true")
        }
    }

    @Test func refusedRequestLeavesItsKeyFree() async throws {
        try await APIServer.run { server in
            let key = [("Idempotency-Key", "k")]
            let early = try await server.send(
                "POST",
                "/v1/sessions/photos/tasks",
                Self.body,
                fields: key
            )
            #expect(early.code == .unknownSession)
            let session = try await server.session()
            let invalid = try await server.send("POST", "\(session)/tasks", "{}", fields: key)
            #expect(invalid.status == 422)
            let valid = try await server.send("POST", "\(session)/tasks", Self.body, fields: key)
            #expect(valid.status == 202)
        }
    }

    @Test func subscriptionIsMadeOnceWithOneSecret() async throws {
        try await APIServer.run { server in
            let key = [("Idempotency-Key", "s")]
            let body = #"{"url": "https://receiver.example/hook"}"#
            let first = try await server.send("POST", "/v1/subscriptions", body, fields: key)
            let again = try await server.send("POST", "/v1/subscriptions", body, fields: key)
            #expect(first.status == 201)
            #expect(again.body == first.body)
            let page = try await server.send("GET", "/v1/subscriptions")
                .json(Page<SubscriptionDocument>.self)
            #expect(page.items.count == 1)
        }
    }

    @Test(arguments: [
        ("abc-1:/=", "abc-1:/="), (#""a b""#, "a b"), (#""a\"\\b""#, #"a"\b"#),
    ])
    func readsStringsAndTokens(field: String, key: String) {
        #expect(IdempotencyKey.parse(Array(field.utf8)) == Array(key.utf8))
    }

    @Test(arguments: [
        "", "\"", "\"\"", "\"a", "a b", "a,b", "a\"b", #""a\n""#, #""a""b""#, "\"é\"",
        String(repeating: "k", count: 256),
    ])
    func refusesOtherForms(field: String) {
        #expect(IdempotencyKey.parse(Array(field.utf8)) == nil)
    }
}
