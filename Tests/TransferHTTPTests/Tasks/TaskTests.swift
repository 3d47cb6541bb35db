import Foundation
import Testing
import TransferModel
import TransferStore
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

@Suite(.postgresSchema) struct TaskTests {
    @Test func oneTaskIsAcceptedAndReadBack() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let answer = try await server.send(
                "POST",
                "\(session)/tasks",
                #"""
                {"url": "https://origin.example:8443/a?b=c#d", "headers": {"Accept": "*/*"},
                 "client_persisted_string": "a\u0000é\ud83d\ude00", "priority": 0.75,
                 "earliest_begin_at": "2030-02-28T23:59:59.123456+02:00",
                 "destination": {"path": "in/a.bin", "overwrite": true}}
                """#
            )
            #expect(answer.status == 202)
            let receipt = try answer.json(TaskReceipt.self)
            #expect(receipt.state == "scheduled")
            #expect(answer.fields["location"] == receipt.location)
            let task = try await server.send("GET", receipt.location).json(TaskDocument.self)
            #expect(task.id == receipt.id)
            #expect(task.state == "scheduled")
            #expect(task.urlSessionState == "running")
            #expect(task.clientPersistedString.map { Array($0.utf8) } == Array("a\0é😀".utf8))
            #expect(task.earliestBeginAt?.rfc3339 == "2030-02-28T21:59:59.123456Z")
            #expect(task.until?.rfc3339 == "2030-02-28T21:59:59.123456Z")
            #expect(task.reason?.contains("2030-02-28") == true)
            #expect(task.priority == 0.75)
            #expect(task.destination?.path == "in/a.bin")
            #expect(task.countOfBytesExpectedToReceive == -1)
            #expect(server.wakes.value == 1)
        }
    }

    @Test func batchIsAnsweredInOrder() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let items = (0..<1000).map {
                #"{"url": "http://origin.example/\#($0)", "client_persisted_string": "\#($0)"}"#
            }
            let answer = try await server.send(
                "POST",
                "\(session)/tasks",
                "[\(items.joined(separator: ","))]"
            )
            #expect(answer.status == 202)
            #expect(answer.fields["location"] == "\(session)/tasks")
            let receipts = try answer.json(BatchReceipt.self).items
            var listed: [TaskDocument] = []
            var next: String? = ""
            while let cursor = next {
                let query = cursor.isEmpty ? "" : "&cursor=\(cursor)"
                let page = try await server.send("GET", "\(session)/tasks?limit=200\(query)")
                    .json(Page<TaskDocument>.self)
                listed += page.items
                next = page.nextCursor
            }
            #expect(listed.map(\.id) == receipts.map(\.id))
            #expect(listed.map(\.clientPersistedString) == (0..<1000).map(String.init))
        }
    }

    @Test func batchWithOneInvalidTaskStoresNothing() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let good = #"{"url": "http://origin.example/"}"#
            let answer = try await server.send(
                "POST",
                "\(session)/tasks",
                """
                [\(good), {"url": 1}, \(good), {"url": "ftp://origin.example/"},
                 {"url": "http://origin.example/", "priority": 2, "headers": {"Host": "x"}}]
                """
            )
            #expect(answer.status == 422)
            #expect(
                answer.faults == [
                    "/1/url wrong_type", "/3/url invalid_url", "/4/headers/Host forbidden_header",
                    "/4/priority invalid_value",
                ]
            )
            let tasks = try await server.send("GET", "\(session)/tasks")
                .json(Page<TaskDocument>.self)
            #expect(tasks.items.isEmpty)
            #expect(server.wakes.value == 0)
        }
    }

    @Test func anAddressComesInPartsToo() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let id = try await server.submit(
                session,
                #"""
                {"components": {"scheme": "https", "host": "origin.example", "port": 8443,
                 "path": "/a b/ü", "query_items": [{"name": "q", "value": "1+1=2&3"},
                 {"name": "flag"}, {"name": "q", "value": ""}]}}
                """#
            )
            let task = try await server.send("GET", "/v1/tasks/\(id)").json(TaskDocument.self)
            #expect(
                task.url
                    == "https://origin.example:8443/a%20b/%C3%BC?q=1%2B1%3D2%263&flag&q="
            )
            for (body, fault) in [
                (#"{}"#, "/url required"),
                (
                    #"{"url": "http://a.example/", "components": {"scheme": "http", "host": "a"}}"#,
                    "/components invalid_value"
                ),
                (
                    #"{"components": {"scheme": "ftp", "host": "a"}}"#,
                    "/components/scheme invalid_url"
                ),
                (#"{"components": {"scheme": "http"}}"#, "/components/host required"),
                (
                    #"{"components": {"scheme": "http", "host": "a/b"}}"#,
                    "/components/host invalid_url"
                ),
            ] {
                #expect(try await server.send("POST", "\(session)/tasks", body).faults == [fault])
            }
        }
    }

    @Test func optionsComeBackAndAreChecked() async throws {
        try await APIServer.run { server in
            let sha256 = String(repeating: "0aF", count: 21) + "0"
            let put = try await server.send(
                "PUT",
                "/v1/sessions/photos",
                #"""
                {"configuration": {"timeout_for_request": 5, "size_max": 1000, "redirects_max": 0,
                 "timeout_for_first_byte": 2.5, "bytes_per_second_max": 4096,
                 "waits_for_connectivity": true, "segments_max": 3, "tls": {"minimum_version": "1.3"},
                 "http_errors": "deliver", "retry": {"attempts_max": 7, "delay_base": 0.5}}}
                """#
            )
            let configuration = try put.json(SessionDocument.self).configuration
            #expect(configuration.options["timeout_for_request"] == .integer(5))
            #expect(configuration.options["timeout_for_resource"] == .integer(604_800))
            #expect(configuration.options["size_max"] == .integer(1000))
            #expect(configuration.options["redirects_max"] == .integer(0))
            #expect(configuration.options["segments_max"] == .integer(3))
            #expect(configuration.options["http_errors"] == .string("deliver"))
            #expect(configuration.options["timeout_for_first_byte"] == .number(2.5))
            #expect(configuration.options["bytes_per_second_max"] == .integer(4096))
            #expect(configuration.options["waits_for_connectivity"] == .bool(true))
            #expect(configuration.options["tls/minimum_version"] == .string("1.3"))
            #expect(configuration.options["retry/attempts_max"] == .integer(7))
            #expect(configuration.options["retry/delay_base"] == .number(0.5))
            #expect(configuration.options["retry/delay_max"] == nil)
            let id = try await server.submit(
                "/v1/sessions/photos",
                #"""
                {"url": "http://origin.example/", "expected_size": 12, "timeout_for_request": 7,
                 "checksums": {"sha-256": "\#(sha256)", "crc32c": "DEADBEEF"}}
                """#
            )
            let task = try await server.send("GET", "/v1/tasks/\(id)").json(TaskDocument.self)
            #expect(task.expectedSize == 12)
            #expect(task.checksums == ["sha-256": sha256.lowercased(), "crc32c": "deadbeef"])
            let claim = try await server.claim()
            #expect(claim.timeoutForRequest == .seconds(7))
            #expect(claim.options.sizeMax == 1000)
            #expect(claim.options.segmentsMax == 3)
            #expect(claim.options.deliversHTTPErrors == true)
            #expect(claim.options.requiresTLS13 == true)
            #expect(claim.options.waitsForConnectivity == true)
            #expect(claim.options.timeoutForFirstByte == .milliseconds(2500))
            #expect(claim.options.checksums?.count == 2)
        }
    }

    @Test func optionsOutOfRangeAreNamed() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let task = try await server.send(
                "POST",
                "\(session)/tasks",
                #"""
                {"url": "http://origin.example/", "expected_size": -1, "size_max": -1,
                 "timeout_for_request": 0, "timeout_for_resource": 1e9, "redirects_max": 11, "segments_max": 17,
                 "timeout_for_first_byte": 0, "bytes_per_second_max": 1,
                 "tls": {"minimum_version": "1.1", "certificate_authorities": "none"},
                 "http_errors": "ignore", "retry": {"attempts_max": 0, "delay_max": 0.01},
                 "checksums": {"sha-1": "00", "md5": "zz", "crc32c": "0"}}
                """#
            )
            #expect(
                Set(task.faults) == [
                    "/expected_size invalid_value", "/size_max invalid_value",
                    "/timeout_for_request invalid_value", "/timeout_for_resource invalid_value",
                    "/redirects_max invalid_value", "/segments_max invalid_value",
                    "/http_errors invalid_value",
                    "/timeout_for_first_byte invalid_value", "/bytes_per_second_max invalid_value",
                    "/tls/minimum_version invalid_value",
                    "/tls/certificate_authorities invalid_value",
                    "/retry/attempts_max invalid_value", "/retry/delay_max invalid_value",
                    "/checksums/sha-1 invalid_value", "/checksums/md5 invalid_value",
                    "/checksums/crc32c invalid_value",
                ]
            )
            for (field, fault) in [
                (#""retry": {"tries": 1}"#, "/retry/tries unknown_field"),
                (#""retry": 1"#, "/retry wrong_type"),
                (#""size_max": "1""#, "/size_max wrong_type"),
                (#""checksums": []"#, "/checksums wrong_type"),
            ] {
                let answer = try await server.send(
                    "POST",
                    "\(session)/tasks",
                    #"{"url": "http://origin.example/", \#(field)}"#
                )
                #expect(answer.faults == [fault])
            }
            let put = try await server.send(
                "PUT",
                session,
                #"{"configuration": {"expected_size": 1}}"#
            )
            #expect(put.faults == ["/configuration/expected_size unknown_field"])
        }
    }

    @Test func listShowsOneStateOnly() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let queued = try await server.submit(session)
            let held = try await server.submit(
                session,
                #"{"url": "http://origin.example/", "autostart": false}"#
            )
            func ids(_ state: String) async throws -> [String] {
                try await server.send("GET", "\(session)/tasks?state=\(state)")
                    .json(Page<TaskDocument>.self).items.map(\.id)
            }
            #expect(try await ids("queued") == [queued.description])
            #expect(try await ids("suspended") == [held.description])
            #expect(try await ids("failed").isEmpty)
        }
    }

    @Test func eventsArePagedBySequence() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            _ = try await server.submit(session)
            try await server.complete([1, 2, 3])
            var types: [String] = []
            var after = try await server.place(0, in: session)
            while true {
                let page = try await server.send("GET", "\(session)/events?after=\(after)&limit=3")
                    .json(EventPage.self)
                if page.items.isEmpty {
                    #expect(page.next == after)
                    break
                }
                let last = types.count + page.items.count
                #expect(page.items.map(\.data.sequence) == (types.count + 1...last).map(Int64.init))
                #expect(page.next == (try await server.place(Int64(last), in: session)))
                types += page.items.map(\.type)
                after = page.next
            }
            #expect(
                types == [
                    "task.created", "task.download_finished", "task.completed",
                    "session.events_finished",
                ]
            )
        }
    }
}
