import Testing
import TransferModel
import TransferStore
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

@Suite(.postgresSchema) struct MirrorTests {
    private static let mirrors = ["https://one.example/f?token=1", "http://two.example:8080/f"]

    @Test func mirrorsAreReadAsTheURLIs() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let id = try await server.submit(
                session,
                #"""
                {"url": "http://o.example/", "mirrors": ["\#(Self.mirrors[0])", "\#(Self.mirrors[1])"]}
                """#
            )
            let task = try await server.send("GET", "/v1/tasks/\(id)").json(TaskDocument.self)
            #expect(task.url == "http://o.example/")
            #expect(task.mirrors == Self.mirrors)
            let asked = JSONValue.array(Self.mirrors.map(JSONValue.string))
            #expect(task.originalRequest?.options.values["mirrors"] == asked)
            #expect(task.effectiveConfiguration?.options.values["mirrors"] == asked)
            let page = try await server.send("GET", "\(session)/tasks").json(
                Page<TaskDocument>.self
            )
            #expect(page.items.map(\.mirrors) == [Self.mirrors])
            #expect(try await server.claim().options.mirrors == Self.mirrors)
        }
    }

    @Test(arguments: [
        (#""mirrors": []"#, "/mirrors invalid_value"),
        (
            #""mirrors": ["a", "a", "a", "a", "a", "a", "a", "a", "a"]"#,
            "/mirrors invalid_value"
        ),
        (#""mirrors": "http://a.example/""#, "/mirrors wrong_type"),
        (#""mirrors": ["http://a.example/", 1]"#, "/mirrors/1 wrong_type"),
        (#""mirrors": ["http://a.example/", "ftp://a.example/"]"#, "/mirrors/1 invalid_url"),
        (#""mirrors": ["http://me:secret@a.example/"]"#, "/mirrors/0 invalid_url"),
        (#""mirrors": ["http://a.example/"], "method": "HEAD""#, "/mirrors invalid_value"),
        (#""mirrors": ["http://a.example/"], "method": "POST""#, "/mirrors invalid_value"),
        (#""mirrors": ["http://a.example/"], "body": {"text": ""}"#, "/mirrors invalid_value"),
        (
            #""mirrors": ["http://a.example/"], "kind": "upload", "upload": {"staged": true}"#,
            "/mirrors invalid_value"
        ),
        (#""checksums": ["a"]"#, "/checksums wrong_type"),
        (#""size_max": ["a"]"#, "/size_max wrong_type"),
    ])
    func mirrorsThatCannotBeAskedAreRefused(fields: String, fault: String) async throws {
        try await APIServer.run { server in
            let answer = try await server.send(
                "POST",
                "\(server.session())/tasks",
                #"{"url": "http://o.example/", \#(fields)}"#
            )
            #expect(answer.status == 422)
            #expect(answer.faults == [fault])
            #expect(!String(decoding: answer.body, as: UTF8.self).contains("secret"))
        }
    }

    @Test func aSessionHasNone() async throws {
        try await APIServer.run { server in
            let put = try await server.send(
                "PUT",
                "/v1/sessions/photos",
                #"{"configuration": {"mirrors": ["http://a.example/"]}}"#
            )
            #expect(put.faults == ["/configuration/mirrors unknown_field"])
        }
    }
}
