import Foundation
import Testing
import TransferModel
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

@Suite(.postgresSchema) struct SessionTests {
    @Test func isCreatedOnceAndFoundAfterwards() async throws {
        try await APIServer.run { server in
            let created = try await server.send("PUT", "/v1/sessions/photos")
            #expect(created.status == 201)
            #expect(created.fields["location"] == "/v1/sessions/photos")
            let again = try await server.send(
                "PUT",
                "/v1/sessions/photos",
                #"""
                {"configuration": {"timeout_for_request": 1.5, "additional_headers": {"A": "b"}}}
                """#
            )
            #expect(again.status == 200)
            let session = try await server.send("GET", "/v1/sessions/photos")
                .json(SessionDocument.self)
            #expect(session.configuration.options["timeout_for_request"] == .number(1.5))
            #expect(session.configuration.options["timeout_for_resource"] == .integer(604_800))
            #expect(session.configuration.headerNames == ["A"])
            #expect(session.outstanding == 0)
        }
    }

    @Test func patchChangesWhatItNamesAndNothingElse() async throws {
        try await APIServer.run { server in
            let path = try await server.session()
            func patch(_ configuration: String) async throws -> SessionDocument.Configuration {
                let body = #"{"configuration": \#(configuration)}"#
                return try await server.send("PATCH", path, body)
                    .json(SessionDocument.self).configuration
            }
            let first = try await patch(
                #"""
                {"total_bytes_per_second_max": 5000, "timeout_for_request": 1.5,
                 "retry": {"attempts_max": 3, "delay_base": 0.1}, "tls": {"minimum_version": "1.3"},
                 "additional_headers": {"A": "b", "C": "d"}}
                """#
            )
            #expect(first.totalBytesPerSecondMax == 5000)
            #expect(server.wakes.value == 1)
            let second = try await patch(
                #"""
                {"retry": {"attempts_max": null}, "tls": null, "additional_headers": {"A": null},
                 "waits_for_connectivity": true}
                """#
            )
            #expect(second.totalBytesPerSecondMax == 5000)
            #expect(second.options["timeout_for_request"] == .number(1.5))
            #expect(second.options["retry/attempts_max"] == nil)
            #expect(second.options["retry/delay_base"] == .number(0.1))
            #expect(second.options["tls"] == nil)
            #expect(second.options["waits_for_connectivity"] == .bool(true))
            #expect(second.headerNames == ["C"])
            let all = try await patch("null")
            #expect(all.totalBytesPerSecondMax == nil)
            #expect(all.options["timeout_for_request"] == .integer(60))
            #expect(all.headerNames.isEmpty)
        }
    }

    /// What a client does at each start: it must not lose what it configured.
    @Test func putWithoutAConfigurationKeepsIt() async throws {
        try await APIServer.run { server in
            let path = "/v1/sessions/kept"
            let body = """
                {"configuration": {"timeout_for_request": 1.5, "additional_headers": {"A": "b"}}}
                """
            let made = try await server.send("PUT", path, body)
            #expect(made.status == 201)
            let configuration = try made.json(SessionDocument.self).configuration
            for (target, body) in [
                (path, ""), (path, "{}"), (path, #"{"kind": "background"}"#),
                (path, #"{"configuration": null}"#), ("\(path)?reconnect=true", ""),
            ] {
                let again = try await server.send("PUT", target, body)
                #expect(again.status == 200)
                let kept = try again.json(SessionDocument.self).configuration
                let what: Comment = "\(target) \(body)"
                #expect(kept.headerNames == configuration.headerNames, what)
                #expect(kept.options["timeout_for_request"] == .number(1.5), what)
            }
            let replaced = try await server.send("PUT", path, #"{"configuration": {}}"#)
                .json(SessionDocument.self).configuration
            #expect(replaced.headerNames.isEmpty)
            #expect(replaced.options["timeout_for_request"] == .integer(60))
        }
    }

    @Test func patchesAtTheSameTimeAreAllMade() async throws {
        try await APIServer.run { server in
            let path = try await server.session()
            try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 0..<8 {
                    let body = #"{"configuration": {"additional_headers": {"N\#(number)": "x"}}}"#
                    group.addTask { try await server.send("PATCH", path, body).status }
                }
                for try await status in group { #expect(status == 200) }
            }
            let session = try await server.send("GET", path).json(SessionDocument.self)
            #expect(session.configuration.headerNames.count == 8)
        }
    }

    @Test func patchRefusesWhatPutRefuses() async throws {
        try await APIServer.run { server in
            let path = try await server.session()
            func faults(_ body: String) async throws -> [String] {
                try await server.send("PATCH", path, body).faults
            }
            #expect(
                try await faults(#"{"configuration": {"total_bytes_per_second_max": 1}}"#)
                    == ["/configuration/total_bytes_per_second_max invalid_value"]
            )
            #expect(
                try await faults(#"{"configuration": {"speed": 1}}"#)
                    == ["/configuration/speed unknown_field"]
            )
            #expect(try await faults(#"{"name": 1}"#) == ["/name unknown_field"])
            // A misspelt reset would be answered as if it had been made.
            for (body, place) in [
                (#"{"name": null}"#, "/name"),
                (#"{"configuration": {"sizemax": null}}"#, "/configuration/sizemax"),
                (#"{"configuration": {"retry": {"max": null}}}"#, "/configuration/retry/max"),
            ] {
                #expect(try await faults(body) == ["\(place) unknown_field"])
                guard body.contains("configuration") else { continue }
                #expect(
                    try await server.send("PUT", path, body).faults == ["\(place) unknown_field"]
                )
            }
            let nulls = #"{"configuration": {"size_max": null, "tls": null, "retry": {}}}"#
            #expect(try await server.send("PATCH", path, nulls).status == 200)
            #expect(try await server.send("PUT", path, nulls).status == 200)
            #expect(try await faults("[1]") == [" wrong_type"])
            #expect(try await server.send("PATCH", path, "{").status == 400)
            #expect(try await server.send("PATCH", path, "").status == 400)
            #expect(try await server.send("PATCH", "/v1/sessions/no", "{}").status == 404)
            let unchanged = try await server.send("PATCH", path, "{}").json(SessionDocument.self)
            #expect(unchanged.configuration.totalBytesPerSecondMax == nil)
        }
    }

    @Test func fiftyParallelPutsMakeOne() async throws {
        try await APIServer.run { server in
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<50 {
                    group.addTask { try await server.send("PUT", "/v1/sessions/photos").status }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(statuses.count(where: { $0 == 201 }) == 1)
            #expect(statuses.count(where: { $0 == 200 }) == 49, "\(statuses)")
        }
    }

    @Test func identifierMayHoldAnythingButNUL() async throws {
        try await APIServer.run { server in
            let paths = [
                "a%2Fb", "%C3%A9", "e%CC%81", "%F0%9F%98%80", "a%20b", "a+b", ".", "%3F%23",
            ]
            for path in paths {
                let made = try await server.send("PUT", "/v1/sessions/\(path)")
                #expect(made.status == 201, "\(path)")
                let location = try #require(made.fields["location"])
                let found = try await server.send("GET", location)
                #expect(found.status == 200, "\(path)")
                #expect(
                    try found.json(SessionDocument.self).identifier.utf8
                        .elementsEqual((path.removingPercentEncoding ?? "").utf8)
                )
            }
            let long = String(repeating: "x", count: 255)
            #expect(try await server.send("PUT", "/v1/sessions/\(long)").status == 201)
            for path in ["\(long)x", "a%00b", "%FF", "%", "%4"] {
                let refused = try await server.send("PUT", "/v1/sessions/\(path)")
                #expect(refused.status == 422, "\(path)")
                #expect(refused.faults == ["identifier invalid_identifier"])
            }
        }
    }

    @Test func listsPagesInOrderOfIdentifier() async throws {
        try await APIServer.run { server in
            for name in ["b", "a", "d", "c", "%C3%A9"] { _ = try await server.session(name) }
            var names: [String] = []
            var next: String? = ""
            while let cursor = next {
                let query = cursor.isEmpty ? "" : "&cursor=\(cursor)"
                let page = try await server.send("GET", "/v1/sessions?limit=2\(query)")
                    .json(Page<SessionDocument>.self)
                #expect(page.items.count <= 2)
                names += page.items.map(\.identifier)
                next = page.nextCursor
            }
            #expect(names == ["a", "b", "c", "d", "é"])
        }
    }

    @Test func deletionCancelsAndFreesTheIdentifier() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let task = try await server.submit(session)
            #expect(try await server.send("DELETE", session).status == 204)
            #expect(try await server.send("GET", session).code == .unknownSession)
            #expect(try await server.send("DELETE", session).code == .unknownSession)
            let document = try await server.send("GET", "/v1/tasks/\(task)")
                .json(TaskDocument.self)
            #expect(document.state == "cancelled")
            #expect(try await server.send("PUT", session).status == 201)
        }
    }

    @Test func whatHasEndedIsReadByItsNameUntilAnotherTakesIt() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let task = try await server.submit(session)
            #expect(try await server.send("DELETE", session).status == 204)
            let tasks = try await server.send("GET", "\(session)/tasks")
                .json(Page<TaskDocument>.self)
            #expect(tasks.items.map(\.id) == [task.description])
            let events = try await server.send("GET", "\(session)/events").json(EventPage.self)
            #expect(
                events.items.map(\.type) == [
                    "task.created", "task.cancelled", "session.events_finished",
                    "session.invalidated",
                ]
            )
            #expect(try await server.send("POST", "\(session)/tasks", "{}").status != 202)
            #expect(try await server.send("PUT", session).status == 201)
            let fresh = try await server.send("GET", "\(session)/tasks")
                .json(Page<TaskDocument>.self)
            #expect(fresh.items.isEmpty)
            #expect(
                try await server.send("GET", "\(session)/events").json(EventPage.self)
                    .items.isEmpty
            )
        }
    }

    @Test func nothingOfAnEndedEphemeralSessionIsReadByItsName() async throws {
        try await APIServer.run { server in
            let session = "/v1/sessions/brief"
            _ = try await server.send("PUT", session, #"{"kind": "ephemeral"}"#)
            _ = try await server.submit(session)
            #expect(try await server.send("DELETE", session).status == 204)
            for path in ["\(session)/tasks", "\(session)/events"] {
                #expect(try await server.send("GET", path).code == .unknownSession)
            }
        }
    }

    @Test func headAnswersAsGetWithoutBody() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let get = try await server.send("GET", session)
            let head = try await server.send("HEAD", session)
            #expect(head.status == 200)
            #expect(head.body.isEmpty)
            #expect(head.fields["content-length"] == String(get.body.count))
        }
    }
}
