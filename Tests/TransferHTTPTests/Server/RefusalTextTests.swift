import Testing
import TransferModel
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

/// What a refusal tells the developer of a client: the fault that it is, and what would be right.
@Suite(.postgresSchema) struct RefusalTextTests {
    private static func task(_ members: String) -> String {
        #"{"url": "http://origin.example/", \#(members)}"#
    }

    /// Returns the sentence of an answer about its one fault, or about the request.
    private func sentence(_ answer: HTTPClient.Answer) throws -> String {
        let problem = try answer.json(ProblemDetails.self)
        return problem.errors?.first?.detail ?? problem.detail ?? ""
    }

    @Test func aTaskIsToldWhatItsMembersMayBe() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let long = String(repeating: "é", count: 200)
            let string = String(repeating: "x", count: ClientString.bytesMax + 1)
            for (body, fault, part) in [
                (#"{"tasks": []}"#, "/url required", "or `components`; several tasks are an array"),
                (#"{"url": "x", "url": "y"}"#, "/url invalid_value", "another member of this name"),
                (
                    Self.task(#""destination": {"path": "\#(long)"}"#),
                    "/destination/path invalid_destination", "have 1 to 200 bytes"
                ),
                (
                    Self.task(#""kind": "upload", "upload": {"path": "\#(long)"}"#),
                    "/upload/path invalid_value", "have 1 to 200 bytes"
                ),
                (
                    Self.task(#""client_persisted_string": "\#(string)""#),
                    "/client_persisted_string client_string_too_long", "at most 65536 bytes"
                ),
                (Self.task(#""method": "get""#), "/method invalid_value", "Must be `GET`"),
                (Self.task(#""method": "Patch""#), "/method invalid_value", "Must be `PATCH`"),
                (Self.task(#""method": "trace""#), "/method invalid_value", "not CONNECT or TRACE"),
                ("{'url': 1}", nil, "Byte 2 is one"),
            ] as [(String, String?, String)] {
                let answer = try await server.send("POST", "\(session)/tasks", body)
                #expect(answer.faults == [fault].compactMap(\.self), "\(part)")
                let said = try sentence(answer)
                #expect(said.contains(part), "\(said)")
            }
            // A method of which nothing is known may be any.
            let other = Self.task(#""method": "x-get""#)
            #expect(try await server.send("POST", "\(session)/tasks", other).status == 202)
        }
    }

    @Test func pathsQueriesAndTypesAreToldTheirForm() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let place = try await server.place(1, in: session)
            let key = #"{"name": "a", "scopes": ["write"]}"#
            for (method, path, body, type, part) in [
                ("GET", "\(session)/tasks?limit=abc", nil, nil, "from 1 to 200"),
                ("GET", "\(session)/tasks?limit=-1", nil, nil, "from 1 to 200"),
                ("GET", "\(session)/tasks?limit=0", nil, nil, "from 1 to 200"),
                ("PUT", "/v1/sessions/a%ZZ", "{}", nil, "in percent-encoded UTF-8"),
                ("PUT", "/v1/sessions/%FF", "{}", nil, "in percent-encoded UTF-8"),
                ("PUT", "/v1/sessions/%00", "{}", nil, "no NUL"),
                ("GET", "/v1/sessions/", nil, nil, "no slash at its end"),
                ("GET", "/v1/nothing/", nil, nil, "`openapi.yaml` lists the paths"),
                ("GET", "/v1/events?after=999", nil, nil, "of these events, unchanged"),
                ("GET", "/v1/events?after=\(place)", nil, nil, "such as those of another session"),
                ("POST", "/v1/keys", key, nil, "`read`, `submit`, `control`, `webhooks`, `admin`"),
                (
                    "POST", "\(session)/tasks", "{}", "application/ndjson",
                    "`application/json` or `application/x-ndjson`"
                ),
                (
                    "POST", "\(session)/tasks", "{\n}\n", TaskStream.mediaType,
                    "Each line of this body is a task"
                ),
            ] as [(String, String, String?, String?, String)] {
                let fields = type.map { [("Content-Type", $0)] } ?? []
                let answer = try await server.send(method, path, body, fields: fields)
                #expect((400..<500).contains(answer.status), "\(path)")
                let said = try sentence(answer)
                #expect(said.contains(part), "\(path): \(said)")
            }
        }
    }
}
