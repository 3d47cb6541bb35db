import Foundation
import Testing
import TransferTestSupport
import TransferWire

/// The reconnection of every kind of task, by a client and a service that have both restarted.
@Suite(.timeLimit(.minutes(5))) struct ReconnectTests {
    /// Returns the submitted tasks, by a name that is also the client string.
    private static func tasks(_ url: String, resumeData: String) -> [(name: String, fields: String)]
    {
        [
            ("download", ""),
            ("download to a destination", #", "destination": {"path": "a/b"}"#),
            ("download in parts", #", "segments_max": 4"#),
            ("download from resume data", #", "resume_data": "\#(resumeData)""#),
            ("download that is verified", #", "expected_size": 5"#),
            ("download later", #", "earliest_begin_at": "2099-01-01T00:00:00Z""#),
            (
                "download when asked",
                #", "earliest_begin_at": "2020-01-01T00:00:00Z", "asks_to_begin": true"#
            ),
            ("download held", #", "autostart": false"#),
            ("upload of a file", #", "kind": "upload", "upload": {"path": "there"}"#),
            ("upload of bytes", #", "kind": "upload", "upload": {"body": {"base64": "AAAA"}}"#),
            ("upload to be brought", #", "kind": "upload", "upload": {"staged": true}"#),
            (
                "upload with POST",
                #", "kind": "upload", "method": "POST", "upload": {"body": {"base64": ""}}"#
            ),
        ].map { name, fields in
            (name, #"{"url": "\#(url)", "client_persisted_string": "\#(name)"\#(fields)}"#)
        }
    }

    private static let data = [
        ("data", ""), ("data with a body", #", "method": "POST", "body": {"base64": "AAAA"}"#),
    ]

    @Test func everyKindComesBackAfterAKill() async throws {
        let directory = try DataDirectory()
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        let gate = OriginGate()
        let body = OriginBody.random(seed: 1, size: 2_000_000)
        origin.when("/cut", .gated(body, after: body.count / 2, gate, headers: [("ETag", "\"1\"")]))
        let first = try await ServiceProcess(in: directory)
        var client = try APIClient(first, key: directory.apiKey())
        for (name, kind) in [("s", "background"), ("e", "ephemeral")] {
            let answer = try await client.send(
                "PUT",
                "/v1/sessions/\(name)",
                #"{"kind": "\#(kind)"}"#
            )
            #expect(answer.status == 201)
        }
        let resumeData = try await Self.resumeData(client, origin, body)
        let tasks = Self.tasks(origin.url("/absent"), resumeData: resumeData)
        for task in tasks {
            let answer = try await client.send("POST", "/v1/sessions/s/tasks", task.fields)
            #expect(
                answer.status == 202,
                "\(task.name): \(String(decoding: answer.body, as: UTF8.self))"
            )
        }
        for (name, fields) in Self.data {
            let text =
                #"{"kind": "data", "url": "\#(origin.url("/absent"))", "client_persisted_string": "\#(name)"\#(fields)}"#
            #expect(try await client.send("POST", "/v1/sessions/e/tasks", text).status == 202)
        }
        _ = await first.killNow()

        let second = try await ServiceProcess(in: directory)
        client = try APIClient(second, key: directory.apiKey())
        let found = try await reconnect(client, "s")
        // The task that was cancelled for its resume data is there too.
        #expect(found.dropFirst() == tasks.map(\.name)[...])
        #expect(try await reconnect(client, "e") == Self.data.map(\.0))
        // Each task is given out once, whatever has restarted.
        #expect(try await reconnect(client, "s").isEmpty)
        #expect(await second.terminate() == 0)
    }

    private func reconnect(_ client: APIClient, _ session: String) async throws -> [String] {
        let answer = try await client.send("POST", "/v1/sessions/\(session)/reconnect", "{}")
        let document = try JSONDecoder().decode(
            ReconnectionDocument.self,
            from: Data(answer.body)
        )
        #expect(document.items.allSatisfy { $0.error == nil })
        return document.items.map { $0.ok?.clientPersistedString ?? "?" }
    }

    /// Returns the resume data of a download that is cancelled in its middle.
    private static func resumeData(
        _ client: APIClient,
        _ origin: LoopbackOrigin,
        _ body: OriginBody
    ) async throws -> String {
        let answer = try await client.send(
            "POST",
            "/v1/sessions/s/tasks",
            #"{"url": "\#(origin.url("/cut"))", "client_persisted_string": "cut"}"#
        )
        let id = try JSONDecoder().decode(TaskReceipt.self, from: Data(answer.body)).id
        try await eventually("half of it is there") {
            let task: TaskDocument = try await client.get("/v1/tasks/\(id)")
            return task.countOfBytesReceived >= 600_000
        }
        let cancelled = try await client.send(
            "POST",
            "/v1/tasks/\(id)/cancel",
            #"{"produce_resume_data": true}"#
        )
        let task = try JSONDecoder().decode(TaskDocument.self, from: Data(cancelled.body))
        return try #require(task.resumeData)
    }
}
