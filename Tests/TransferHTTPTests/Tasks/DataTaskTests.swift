import Testing
import TransferModel
import TransferStore
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

@Suite(.postgresSchema) struct DataTaskTests {
    private static let ephemeral = #"{"kind": "ephemeral"}"#

    /// Runs `body` with an ephemeral session's path.
    private static func run(
        _ body: @Sendable (APIServer, String) async throws -> Void
    ) async throws {
        try await APIServer.run { server in
            let path = "/v1/sessions/private"
            let session = try await server.send("PUT", path, ephemeral)
            #expect(session.status == 201)
            #expect(try session.json(SessionDocument.self).kind == "ephemeral")
            try await body(server, path)
        }
    }

    @Test func theAnswerComesWithTheTaskAndAsItsContent() async throws {
        try await Self.run { server, session in
            let id = try await server.submit(
                session,
                #"{"kind": "data", "method": "POST", "body": {"base64": "AAE="}, "url": "http://o.example/"}"#
            )
            let claim = try await server.claim()
            #expect(
                claim.request
                    == TransferRequest(kind: .data, method: "POST", upload: .data([0, 1]))
            )
            let latin1: [UInt8] = [0x6D, 0xFC, 0x64, 0x65]
            let result = TransferResult(
                httpStatus: 200,
                bytesReceived: 4,
                fields: KeptFields(of: [("Content-Type", "text/plain; charset=ISO-8859-1")]),
                isLengthVerified: true
            )
            let ended = try await server.stores.completions.end([
                AttemptEnd(
                    task: id,
                    fence: claim.fence,
                    outcome: .answered(result, body: latin1),
                    bytesReceived: 4
                )
            ])
            #expect(ended == [id])
            let task = try await server.send("GET", "/v1/tasks/\(id)").json(TaskDocument.self)
            #expect(task.kind == "data")
            #expect(task.response?.charset == "iso-8859-1")
            #expect(task.response?.body == "bfxkZQ==")
            #expect(task.countOfBytesReceived == 4)
            let content = try await server.send("GET", try #require(task.content))
            #expect(content.body == latin1)
            #expect(content.fields["content-type"] == "text/plain; charset=ISO-8859-1")
            let tag = try #require(content.fields["etag"])
            let unchanged = try await server.send(
                "GET",
                try #require(task.content),
                fields: [("If-None-Match", tag)]
            )
            #expect(unchanged.status == 304)
            #expect(unchanged.body.isEmpty)
            #expect(unchanged.fields["etag"] == tag)
            let page = try await server.send("GET", "\(session)/tasks").json(
                Page<TaskDocument>.self
            )
            #expect(page.items.map(\.response?.body) == [nil])
            let deleted = try await server.send("DELETE", session)
            #expect(deleted.status == 204)
            for path in ["", "/content", "/attempts"] {
                let gone = try await server.send("GET", "/v1/tasks/\(id)\(path)")
                #expect(gone.code == .unknownTask)
            }
        }
    }

    @Test func aDataTaskNeedsAnEphemeralSession() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let data = #"{"kind": "data", "url": "http://o.example/"}"#
            let answer = try await server.send("POST", "\(session)/tasks", data)
            #expect(answer.status == 422)
            #expect(answer.faults == ["/kind data_needs_ephemeral_session"])
            let batch = try await server.send(
                "POST",
                "\(session)/tasks",
                #"[{"url": "http://o.example/"}, \#(data)]"#
            )
            #expect(batch.faults == ["/1/kind data_needs_ephemeral_session"])
            let tasks = try await server.send("GET", "\(session)/tasks")
            #expect(try tasks.json(Page<TaskDocument>.self).items.isEmpty)
        }
    }

    @Test func theKindOfASessionStays() async throws {
        try await Self.run { server, path in
            let change = try await server.send(
                "PUT",
                path,
                #"{"kind": "background", "configuration": {"timeout_for_request": 1}}"#
            )
            #expect(change.status == 409)
            #expect(change.code == .sessionKindDiffers)
            let session = try await server.send("GET", path).json(SessionDocument.self)
            #expect(session.kind == "ephemeral")
            #expect(session.configuration.options["timeout_for_request"] == .integer(60))
            let open = try await server.send("PUT", path, "{}")
            #expect(open.status == 200)
            #expect(try open.json(SessionDocument.self).kind == "ephemeral")
            let unknown = try await server.send("PUT", path, #"{"kind": "lasting"}"#)
            #expect(unknown.faults == ["/kind invalid_value"])
            #expect(try await server.send("PUT", path, Self.ephemeral).status == 200)
        }
    }

    @Test(arguments: [
        (#""kind": "data", "body": {"base64": "*"}"#, "/body/base64 invalid_value"),
        (#""kind": "data", "body": {"base64": "AA=="}, "method": "HEAD""#, "/body invalid_value"),
        (
            #""kind": "upload", "upload": {"staged": true}, "body": {"base64": "AA=="}"#,
            "/body invalid_value"
        ),
        (#""body": {}"#, "/body invalid_value"),
        (#""body": {"text": "a", "json": 1}"#, "/body invalid_value"),
        (#""body": {"json": [1, 123456789012345678901]}"#, "/body/json invalid_value"),
        (#""body": {"json": 1e999}"#, "/body/json invalid_value"),
        (#""body": {"form": [{"name": "a"}]}"#, "/body/form/0/value required"),
        (#""body": {"data": "AA=="}"#, "/body/data unknown_field"),
        (
            #""body": {"text": ""}, "resume_data": "8a1c5c3e-0000-4000-8000-000000000000""#,
            "/resume_data invalid_value"
        ),
        (#""kind": "data", "upload": {"staged": true}"#, "/upload invalid_value"),
        (#""kind": "data", "destination": {"path": "x"}"#, "/destination invalid_value"),
        (#""kind": "data", "expected_size": 1"#, "/expected_size invalid_value"),
        (
            #""kind": "data", "checksums": {"md5": "d41d8cd98f00b204e9800998ecf8427e"}"#,
            "/checksums invalid_value"
        ),
        (
            #""method": "HEAD", "checksums": {"md5": "d41d8cd98f00b204e9800998ecf8427e"}"#,
            "/checksums invalid_value"
        ),
        (
            #""kind": "data", "resume_data": "8a1c5c3e-0000-4000-8000-000000000000""#,
            "/resume_data invalid_value"
        ),
    ])
    func whatMakesNoSenseIsNamed(fields: String, fault: String) async throws {
        try await Self.run { server, session in
            let answer = try await server.send(
                "POST",
                "\(session)/tasks",
                #"{"url": "http://o.example/", \#(fields)}"#
            )
            #expect(answer.faults == [fault])
        }
    }
}
