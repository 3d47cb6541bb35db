import Foundation
import Testing
import TransferModel
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

/// What was asked for with a task, and what holds for it.
@Suite(.postgresSchema) struct ReadBackTests {
    private func task(_ id: TaskID, _ server: APIServer) async throws -> TaskDocument {
        try await server.send("GET", "/v1/tasks/\(id)").json(TaskDocument.self)
    }

    @Test func theRequestAndWhatHoldsAreReadBack() async throws {
        try await APIServer.run { server in
            try await server.send(
                "PUT",
                "/v1/sessions/s",
                """
                {"configuration": {"additional_headers": {"Accept": "image/*", "X-Team": "blue"},
                 "timeout_for_request": 20, "redirects_max": 3, "retry": {"delay_base": 2}}}
                """
            )
            let id = try await server.submit(
                "/v1/sessions/s",
                """
                {"url": "http://origin.example/a", "headers": {"x-team": "secret-value"},
                 "timeout_for_resource": 600, "retry": {"attempts_max": 7}, "redirects_max": 1}
                """
            )
            let answer = try await server.send("GET", "/v1/tasks/\(id)")
            #expect(!answer.text.contains("secret-value"))
            let task = try answer.json(TaskDocument.self)
            let original = try #require(task.originalRequest)
            #expect(original.method == nil)
            #expect(original.headerNames == ["x-team"])
            #expect(original.upload == nil)
            #expect(
                original.options.values == [
                    "timeout_for_resource": .integer(600), "redirects_max": .integer(1),
                    "retry": .object(["attempts_max": .integer(7)]),
                ]
            )
            let holds = try #require(task.effectiveConfiguration)
            #expect(holds.headerNames == ["Accept", "x-team"])
            let values = holds.options.values
            #expect(values["timeout_for_request"] == .integer(20))
            #expect(values["timeout_for_resource"] == .integer(600))
            #expect(values["redirects_max"] == .integer(1))
            #expect(
                values["retry"]
                    == .object([
                        "attempts_max": .integer(7), "delay_base": .integer(2),
                        "delay_max": .integer(3600),
                    ])
            )
            // A count of attempts is set, so that it does not wait for a host.
            #expect(values["waits_for_connectivity"] == .bool(false))
            #expect(values["segments_max"] == .integer(8))
            #expect(values["sends_body_to_other_origins"] == .bool(false))
            #expect(values["idempotent"] == .bool(true))
            // Lists stay small.
            let page = try await server.send("GET", "/v1/sessions/s/tasks")
                .json(Page<TaskDocument>.self)
            #expect(page.items[0].originalRequest == nil)
            #expect(page.items[0].effectiveConfiguration == nil)
        }
    }

    @Test func theSourceOfAnUploadIsReadBackWithoutItsBytes() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let sources: [(String, OriginalRequestDocument.Upload)] = [
                (#"{"staged": true}"#, .init(staged: true)),
                (#"{"body": {"base64": "AAECAw=="}}"#, .init(size: 4)),
            ]
            for (source, expected) in sources {
                let id = try await server.submit(
                    session,
                    #"{"kind": "upload", "url": "http://o.example/", "upload": \#(source), "method": "POST"}"#
                )
                let task = try await task(id, server)
                #expect(task.originalRequest?.method == "POST")
                #expect(task.originalRequest?.upload?.staged == expected.staged)
                #expect(task.originalRequest?.upload?.size == expected.size)
                let values = try #require(task.effectiveConfiguration?.options.values)
                #expect(values["idempotent"] == .bool(false))
            }
        }
    }

    @Test func aChangeIsReadBack() async throws {
        try await APIServer.run { server in
            let id = try await server.submit(try await server.session())
            #expect(
                try await task(id, server).effectiveConfiguration?.options
                    .values["waits_for_connectivity"] == .bool(true)
            )
            try await server.send("PATCH", "/v1/tasks/\(id)", #"{"bytes_per_second_max": 2048}"#)
            let task = try await task(id, server)
            #expect(
                task.originalRequest?.options.values == ["bytes_per_second_max": .integer(2048)]
            )
        }
    }
}
