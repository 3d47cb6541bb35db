import Testing
import TransferStore
import TransferTestSupport
import TransferModel
import TransferWire

@testable import TransferHTTP

/// The answers to invalid requests: never a 5xx, never silence.
@Suite(.postgresSchema) struct BadInputTests {
    private static func task(_ members: String) -> String {
        #"{"url": "http://origin.example/", \#(members)}"#
    }

    /// Bodies of a submission, each with its one fault.
    private static let invalidTasks: [(String, String)] = [
        ("{}", "/url required"),
        ("[]", " no_items"),
        ("\"x\"", " wrong_type"),
        ("17", " wrong_type"),
        ("null", " wrong_type"),
        ("[17]", "/0 wrong_type"),
        ("[[]]", "/0 wrong_type"),
        (#"{"url": null}"#, "/url wrong_type"),
        (#"{"url": "/relative"}"#, "/url invalid_url"),
        (#"{"url": "http://"}"#, "/url invalid_url"),
        (#"{"url": "http://user@origin.example/"}"#, "/url invalid_url"),
        (#"{"url": "http://origin.example/a b"}"#, "/url invalid_url"),
        (#"{"url": "http://origin.example/\u0000"}"#, "/url invalid_url"),
        (#"{"url": "http://origin.example/\r\nX: y"}"#, "/url invalid_url"),
        (#"{"url": "file:///etc/passwd"}"#, "/url invalid_url"),
        (task(#""typo": 1"#), "/typo unknown_field"),
        (task(#""a/b~c": 1"#), "/a~1b~0c unknown_field"),
        (task(#""headers": []"#), "/headers wrong_type"),
        (task(#""headers": {"A": 1}"#), "/headers/A wrong_type"),
        (task(#""headers": {"05": 1}"#), "/headers/05 wrong_type"),
        (
            task(#""kind": "upload", "method": "HEAD", "upload": {"staged": true}"#),
            "/method invalid_value"
        ),
        (task(#""headers": {"A b": "c"}"#), "/headers/A b invalid_header"),
        (task(#""headers": {"": "c"}"#), "/headers/ invalid_header"),
        (task(#""headers": {"A": "b\r\nC: d"}"#), "/headers/A invalid_header"),
        (task(#""headers": {"A": "b\u0000"}"#), "/headers/A invalid_header"),
        (task(#""headers": {"A": " b"}"#), "/headers/A invalid_header"),
        (task(#""headers": {"A": "b", "a": "c"}"#), "/headers/a invalid_header"),
        (task(#""headers": {"TE": "x"}"#), "/headers/TE forbidden_header"),
        (task(#""headers": {"content-length": "1"}"#), "/headers/content-length forbidden_header"),
        (task(#""headers": {"Proxy-Foo": "x"}"#), "/headers/Proxy-Foo forbidden_header"),
        (task(#""headers": {"Range": "bytes=0-"}"#), "/headers/Range forbidden_header"),
        (task(#""headers": {"HTTP2-Settings": "x"}"#), "/headers/HTTP2-Settings forbidden_header"),
        (task(#""priority": 1.1"#), "/priority invalid_value"),
        (task(#""priority": -0.1"#), "/priority invalid_value"),
        (#"[{"url": "http://origin.example/", "priority": 1e400}]"#, "/0/priority invalid_value"),
        (task(#""priority": "1""#), "/priority wrong_type"),
        (task(#""priority": 1e400"#), "/priority invalid_value"),
        (task(#""autostart": 1"#), "/autostart wrong_type"),
        (task(#""autostart": "true""#), "/autostart wrong_type"),
        (task(#""earliest_begin_at": 5"#), "/earliest_begin_at wrong_type"),
        (task(#""earliest_begin_at": "tomorrow""#), "/earliest_begin_at invalid_date"),
        (task(#""earliest_begin_at": "2030-02-30T00:00:00Z""#), "/earliest_begin_at invalid_date"),
        (task(#""earliest_begin_at": "2030-01-01T00:00:00""#), "/earliest_begin_at invalid_date"),
        (
            task(#""earliest_begin_at": "9999-12-31T23:59:59.999999Z""#),
            "/earliest_begin_at invalid_date"
        ),
        (task(#""client_persisted_string": 1"#), "/client_persisted_string wrong_type"),
        (task(#""destination": "a""#), "/destination wrong_type"),
        (task(#""destination": {}"#), "/destination/path required"),
        (task(#""destination": {"path": "a", "mode": 1}"#), "/destination/mode unknown_field"),
        (task(#""destination": {"path": "../a"}"#), "/destination/path invalid_destination"),
        (task(#""destination": {"path": "/a"}"#), "/destination/path invalid_destination"),
        (task(#""destination": {"path": "a\u0000"}"#), "/destination/path invalid_destination"),
        (task(#""destination": {"path": ".transferd"}"#), "/destination/path invalid_destination"),
    ]

    @Test func invalidTasksAreRefusedWithTheirPlace() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            for (body, fault) in Self.invalidTasks {
                let answer = try await server.send("POST", "\(session)/tasks", body)
                #expect(answer.status == 422, "\(body)")
                #expect(answer.faults == [fault], "\(body)")
            }
            let tasks = try await server.send("GET", "\(session)/tasks")
                .json(Page<TaskDocument>.self)
            #expect(tasks.items.isEmpty)
        }
    }

    @Test func whatIsTooMuchIsRefused() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            func faults(_ body: String) async throws -> [String] {
                let answer = try await server.send("POST", "\(session)/tasks", body)
                #expect(answer.status == 422)
                return answer.faults
            }
            let item = #"{"url":"http://origin.example/"}"#
            // What passes here must not be too much there.
            #expect(SubmitRequest.tasksMax <= SubmissionStore.submissionMax)
            let many = "[" + Array(repeating: item, count: 1001).joined(separator: ",") + "]"
            #expect(try await faults(many) == [" too_many_items"])
            let long = String(repeating: "é", count: 32 * 1024)
            let string = Self.task(#""client_persisted_string": "\#(long)x""#)
            #expect(
                try await faults(string) == ["/client_persisted_string client_string_too_long"]
            )
            let url = #"{"url": "http://origin.example/\#(String(repeating: "a", count: 8192))"}"#
            #expect(try await faults(url) == ["/url invalid_url"])
            let headers = (0..<65).map { #""H\#($0)": "v""# }.joined(separator: ",")
            #expect(
                try await faults(Self.task(#""headers": {\#(headers)}"#))
                    == ["/headers too_many_headers"]
            )
            let value = String(repeating: "v", count: 8193)
            #expect(
                try await faults(Self.task(#""headers": {"H": "\#(value)"}"#))
                    == ["/headers/H invalid_header"]
            )
            let bad = "[" + Array(repeating: "1", count: 1000).joined(separator: ",") + "]"
            #expect(try await faults(bad).count == ProblemDetails.errorsMax)
            let exact = Self.task(#""client_persisted_string": "\#(long)""#)
            #expect(try await server.send("POST", "\(session)/tasks", exact).status == 202)
        }
    }

    /// Swift compares texts in a time that grows with the square of their combining marks.
    @Test(.timeLimit(.minutes(2))) func whatTakesLongToCompareIsRefused() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let row = "\u{300}\u{323}\u{334}\u{345}\u{316}"
            let name = "a" + String(repeating: row, count: 4000)
            let word = "a" + String(repeating: row, count: 100_000)
            let good = #"{"url": "http://origin.example/"}"#
            let headers = Self.task(#""headers": {"\#(name)": "b"}"#)
            let sent = #""body": {"json": {"\#(name)": 1}}"#
            let configuration = #"{"configuration": {"\#(name)": 1}}"#
            let format = #"{"persisted_format": {"version": 1, "kinds": ["\#(word)"]}}"#
            let adoption = """
                {"creation_info": {"client": "a", "shared_container_identifier": "\(word)"}}
                """
            let container = "/creation_info/shared_container_identifier invalid_value"
            let table: [(String, String, String, String)] = [
                ("POST", "reconnect", adoption, container),
                ("POST", "tasks", Self.task(#""\#(name)": 1"#), " invalid_value"),
                ("POST", "tasks", headers, " invalid_value"),
                ("POST", "tasks", "[\(good), \(headers)]", "/1 invalid_value"),
                ("POST", "tasks", Self.task(sent), " invalid_value"),
                ("POST", "tasks", Self.task(#""kind": "\#(word)""#), "/kind invalid_value"),
                ("POST", "tasks", Self.task(#""method": "\#(word)""#), "/method invalid_value"),
                ("PATCH", "", configuration, " invalid_value"),
                ("POST", "reconnect", format, "/persisted_format/kinds invalid_value"),
            ]
            for (method, place, body, fault) in table {
                let path = place.isEmpty ? session : "\(session)/\(place)"
                let answer = try await server.send(method, path, body)
                #expect(answer.status == 422, "\(fault)")
                #expect(answer.faults == [fault])
            }
            let settings = "/v1/tenant/background-settings"
            let answer = try await server.send("PATCH", settings, #"{"\#(name)": 1}"#)
            #expect(answer.faults == [" invalid_value"])
            #expect(answer.text.contains("more than 30 combining marks in a row"))
            let escaped = "a" + String(repeating: "%CC%80%CC%A3", count: 2000)
            let query = try await server.send("GET", "/v1/tasks?order=\(escaped)")
            #expect(query.text.contains("more than 30 combining marks in a row"))
        }
    }

    @Test func whatIsNoJSONIsRefused() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let deep = 100_000
            let bodies: [[UInt8]] = [
                [], Array(" ".utf8), Array("{".utf8), Array(#"{"url": }"#.utf8),
                Array("{} {}".utf8), Array("{'url': 1}".utf8), Array(#"{"url": "a}"#.utf8),
                Array("nul".utf8), Array("[1,]".utf8), [0xFF, 0xFE, 0x7B, 0x00, 0x7D, 0x00],
                [0xEF, 0xBB, 0xBF] + Array("{}".utf8), [0x00], Array("{\"url\": \"\u{1}\"}".utf8),
                Array(#"{"url": ""#.utf8) + [0xC3, 0x28] + Array("\"}".utf8),
                Array(String(repeating: "[", count: deep).utf8),
                Array(
                    (String(repeating: "[", count: deep) + String(repeating: "]", count: deep))
                        .utf8
                ),
                Array(String(repeating: #"{"a":"#, count: deep).utf8),
            ]
            for body in bodies {
                let answer = try await server.send("POST", "\(session)/tasks", bytes: body)
                #expect(answer.status == 400, "\(String(decoding: body.prefix(40), as: UTF8.self))")
                #expect(answer.code == .malformedJSON)
            }
            // Whether these are JSON at all is debatable; that they are refused is not.
            for text in [#"{"url": "\ud800"}"#, #"{"url": "\udc00\ud800"}"#, #"{"url": 01}"#] {
                let answer = try await server.send("POST", "\(session)/tasks", text)
                #expect([400, 422].contains(answer.status), "\(text)")
            }
        }
    }

    @Test func invalidConfigurationsAreRefusedWithTheirPlace() async throws {
        try await APIServer.run { server in
            let table: [(String, String)] = [
                (#"{"configuration": []}"#, "/configuration wrong_type"),
                (#"{"identifier": "x"}"#, "/identifier unknown_field"),
                (
                    #"{"configuration": {"max_connections_per_host": 1.5}}"#,
                    "/configuration/max_connections_per_host invalid_value"
                ),
                (
                    #"{"configuration": {"total_bytes_per_second_max": 99999999999999999999}}"#,
                    "/configuration/total_bytes_per_second_max invalid_value"
                ),
                (
                    #"{"configuration": {"timeout_for_request": 1e999}}"#,
                    "/configuration/timeout_for_request invalid_value"
                ),
                (#"{"kind": "\ud800"}"#, "/kind invalid_value"),
                (
                    #"{"configuration": {"additional_headers": {"A": "\ud800"}}}"#,
                    "/configuration/additional_headers invalid_value"
                ),
                (
                    #"{"configuration": {"timeout_for_request": 0}}"#,
                    "/configuration/timeout_for_request invalid_value"
                ),
                (
                    #"{"configuration": {"timeout_for_resource": 1e300}}"#,
                    "/configuration/timeout_for_resource invalid_value"
                ),
                (
                    #"{"configuration": {"timeout_for_request": "60"}}"#,
                    "/configuration/timeout_for_request wrong_type"
                ),
                (
                    #"{"configuration": {"additional_headers": {"Connection": "close"}}}"#,
                    "/configuration/additional_headers/Connection forbidden_header"
                ),
                (#"{"configuration": {"more": 1}}"#, "/configuration/more unknown_field"),
            ]
            for (body, fault) in table {
                let answer = try await server.send("PUT", "/v1/sessions/photos", body)
                #expect(answer.status == 422, "\(body)")
                #expect(answer.faults == [fault], "\(body)")
            }
            #expect(try await server.send("GET", "/v1/sessions/photos").status == 404)
        }
    }

    @Test func queriesAreCheckedToo() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let foreign = Cursor.session(.default, identifier: "a").serialized
            let long = String(repeating: "x", count: 64)
            let table: [(String, String)] = [
                ("tasks?limit=0", "limit invalid_value"),
                ("tasks?limit=201", "limit invalid_value"),
                ("tasks?limit=-1", "limit invalid_value"),
                ("tasks?limit=1.5", "limit invalid_value"),
                ("tasks?limit=", "limit invalid_value"),
                ("tasks?limit=99999999999999999999", "limit invalid_value"),
                ("tasks?limit=1&limit=2", "limit invalid_value"),
                ("tasks?state=done", "state invalid_value"),
                ("tasks?stat=failed", "stat unknown_parameter"),
                ("tasks?a%2F%22%00b", "a/\"\0b unknown_parameter"),
                ("tasks?\(long)z=1", "\(long) unknown_parameter"),
                ("tasks?%FF=1", "query unknown_parameter"),
                ("tasks?=1", "query unknown_parameter"),
                ("tasks?cursor=abc", "cursor invalid_cursor"),
                ("tasks?cursor=", "cursor invalid_cursor"),
                ("tasks?cursor=%FF", "cursor invalid_value"),
                ("tasks?cursor=\(foreign)", "cursor invalid_cursor"),
                ("events?after=-1", "after invalid_cursor"),
                ("events?after=x", "after invalid_cursor"),
                ("events?after=1", "after invalid_cursor"),
                ("events?after=01890000-0000-7000-8000-00000000000A:1", "after invalid_cursor"),
                ("events?after=01890000-0000-7000-8000-00000000000a:01", "after invalid_cursor"),
                ("events?after=01890000-0000-7000-8000-00000000000a:-1", "after invalid_cursor"),
            ]
            for (path, fault) in table {
                let answer = try await server.send("GET", "\(session)/\(path)")
                #expect(answer.status == 422, "\(path)")
                #expect(answer.faults == [fault], "\(path)")
            }
            let state = try await server.send("GET", "\(session)/tasks?state=done").text
            for known in TransferState.allCases { #expect(state.contains("`\(known.rawValue)`")) }
            let unknown = try await server.send("GET", "\(session)?stat=failed").text
            #expect(unknown.contains("which has `client`"))
        }
    }

    @Test func onlyJSONIsTaken() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let body = Array(#"{"url": "http://origin.example/"}"#.utf8)
            func status(_ fields: [(String, String)]) async throws -> Int {
                try await server.send("POST", "\(session)/tasks", bytes: body, fields: fields)
                    .status
            }
            #expect(try await status([("Content-Type", "text/plain")]) == 415)
            #expect(try await status([("Content-Type", "application/jsonx")]) == 415)
            #expect(
                try await status([("Content-Type", "application/json; charset=latin1")]) == 415
            )
            #expect(
                try await status([
                    ("Content-Type", "application/json"), ("Content-Encoding", "gzip"),
                ]) == 415
            )
            #expect(
                try await status([("Content-Type", "Application/JSON; charset=UTF-8")]) == 202
            )
        }
    }

    @Test func bodiesAreBounded() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let big = [UInt8](repeating: UInt8(ascii: " "), count: 16 * 1024 * 1024 + 1)
            let answer = try await server.send("POST", "\(session)/tasks", bytes: big)
            #expect(answer.status == 413)
            #expect(answer.code == .bodyTooLarge)
        }
    }

    @Test func wrongMethodsAndPathsAreTold() async throws {
        try await APIServer.run { server in
            let answer = try await server.send("POST", "/v1/sessions/photos")
            #expect(answer.status == 405)
            #expect(answer.code == .methodNotAllowed)
            #expect(answer.fields["allow"] == "DELETE, GET, HEAD, PATCH, PUT")
            #expect(answer.detail?.contains("DELETE, GET, HEAD, PATCH, PUT") == true)
            let post = try await server.sendPlain("POST", "/livez", bytes: [])
            #expect(post.status == 405)
            #expect(post.fields["allow"] == "GET, HEAD")
            for path in ["/index.html", "/v1", "/v1/sessions/a/b/c", "/v2/sessions", "/livez/x"] {
                let answer = try await server.send("GET", path)
                #expect(answer.status == 404, "\(path)")
                #expect(answer.code == .unknownRoute)
            }
        }
    }

    /// A program whose variable is empty must not remove what is one level higher.
    @Test func anEmptySegmentOfAPathIsNotLeftOut() async throws {
        try await APIServer.run { server in
            try await server.register([("a", "processing"), ("b", "processing")])
            for identifier in ["a", "b"] { try await server.request(identifier) }
            let session = try await server.session("tasks")
            for (method, path) in [
                ("DELETE", "\(APIServer.tasks)/requests/"), ("DELETE", "/v1/sessions//tasks"),
                ("GET", "//v1/sessions"), ("GET", "/v1/tasks/"), ("GET", "/livez/"), ("GET", "//"),
            ] {
                let answer = try await server.send(method, path)
                #expect(answer.status == 404, "\(method) \(path)")
                #expect(answer.code == .unknownRoute, "\(method) \(path)")
            }
            #expect(try await server.pending().map(\.identifier).sorted() == ["a", "b"])
            #expect(try await server.send("GET", session).status == 200)
            let page = try await server.sendPlain("GET", "/page//app.js")
            #expect(page.code == .unknownRoute)
        }
    }

    @Test func badIdempotencyKeysAreRefused() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            for key in ["\"open", "a b", "", String(repeating: "k", count: 256)] {
                let answer = try await server.send(
                    "POST",
                    "\(session)/tasks",
                    #"{"url": "http://origin.example/"}"#,
                    fields: [("Idempotency-Key", key)]
                )
                #expect(answer.status == 400, "\(key)")
                #expect(answer.code == .invalidIdempotencyKey)
            }
        }
    }

    @Test func headersAreBounded() async throws {
        try await APIServer.run { server in
            let long = String(repeating: "x", count: 64 * 1024)
            let answer = try await server.client.exchange(
                HTTPClient.request("GET", "/livez", fields: [("X-Long", long)], body: nil)
            )
            #expect((400..<500).contains(answer.status))
            #expect(answer.text.contains("100 fields, and 32768 bytes"))
        }
    }
}
