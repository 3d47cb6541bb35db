import Testing
import TransferModel
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

/// What a handler needs to know of a task is in its event.
@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct EventContentTests {
    @Test func theEndOfATaskTellsWhatHasComeOfIt() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let task = try await server.submit(
                session,
                #"""
                {"url": "http://a.example/p?token=secret",
                 "destination": {"path": "in/file", "overwrite": true}}
                """#
            )
            try await server.complete(
                Array("abc".utf8),
                fields: [("ETag", "\"1\""), ("X-Other", "x")],
                finalURL: "https://cdn.example/file?sig=secret#there",
                checksums: [Checksum(.crc32c, hex: "01020304")].compactMap(\.self)
            )
            let page = try await server.send("GET", "\(session)/events")
            #expect(!page.text.contains("secret"))
            let events = try page.json(EventPage.self).items
            let created = try #require(events.first { $0.type == "task.created" }?.data.task)
            #expect(created.kind == "download")
            #expect(created.url == nil)
            #expect(created.destination?.path == "in/file")
            #expect(created.response == nil)
            for type in ["task.download_finished", "task.completed"] {
                let told = try #require(events.first { $0.type == type }?.data.task)
                #expect(told.url == "http://a.example/p")
                #expect(told.destination?.overwrite == true)
                #expect(told.content?.hasSuffix("/v1/tasks/\(task)/content") == true)
                #expect(told.response?.status == 200)
                #expect(told.response?.contentType == "image/png")
                #expect(told.response?.etag == "\"1\"")
                #expect(told.response?.finalURL == "https://cdn.example/file")
                #expect(told.response?.checksums == ["crc32c": "01020304"])
                #expect(told.response?.headers == nil)
            }
        }
    }

    @Test func aTaskWithoutAResultTellsItsURLOnceItHasEnded() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let task = try await server.submit(session, #"{"url": "http://a.example/p?q"}"#)
            _ = try await server.send("POST", "/v1/tasks/\(task)/cancel")
            let events = try await server.send("GET", "\(session)/events").json(EventPage.self)
            let told = try #require(
                events.items.first { $0.type == "task.cancelled" }?.data.task
            )
            #expect(told.url == "http://a.example/p")
            #expect(told.content == nil)
            #expect(told.response == nil)
        }
    }
}
