import Foundation
import Testing
import TransferModel
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

/// Uploads whose bytes lie elsewhere, as clients submit them.
@Suite(.postgresSchema) struct CopyRequestTests {
    private func submission(_ copy: String) -> String {
        #"{"kind": "upload", "url": "http://o.example/", "upload": {"copy": \#(copy)}}"#
    }

    @Test func aURLIsCopiedWithItsHeaders() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let copy = #"{"url": "https://s.example/a?b=c", "headers": {"X-B": "b", "X-A": "a"}}"#
            let id = try await server.submit(session, submission(copy))
            let claim = try await server.claim()
            let headers = [
                HTTPHeader(name: "X-A", value: "a"), HTTPHeader(name: "X-B", value: "b"),
            ]
            let source = CopySource.remote(url: "https://s.example/a?b=c", headers: headers)
            #expect(claim.request.upload == .copy(source))
            let answer = try await server.send("GET", "/v1/tasks/\(id)")
            let shown = try answer.json(TaskDocument.self).originalRequest?.upload?.copy
            #expect(shown?.url == "https://s.example/a")
            #expect(shown?.headerNames == ["X-A", "X-B"])
            #expect(!answer.text.contains("b=c"))
        }
    }

    @Test func theResultOfATaskIsCopied() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let download = try await server.submit(session, #"{"url": "http://o.example/"}"#)
            try await server.complete([1, 2, 3])
            let id = try await server.submit(session, submission(#"{"task": "\#(download)"}"#))
            #expect(try await server.claim().request.copiedTask == download)
            let task = try await server.send("GET", "/v1/tasks/\(id)").json(TaskDocument.self)
            #expect(task.originalRequest?.upload?.copy?.task == download.description)
        }
    }

    /// In an array, in a line, and alone; a task of its own session that has not ended, and none.
    @Test func whatIsNoKeptResultIsRefusedAtOnce() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let running = try await server.submit(session, #"{"url": "http://o.example/"}"#)
            for id in [running.description, UUID().uuidString] {
                let task = submission(#"{"task": "\#(id)"}"#)
                let alone = try await server.send("POST", "\(session)/tasks", task)
                #expect(alone.status == 422)
                #expect(alone.faults == ["/upload/copy/task invalid_value"])
                let batch = try await server.send(
                    "POST",
                    "\(session)/tasks",
                    #"[{"url": "http://o.example/"}, \#(task)]"#
                )
                #expect(batch.faults == ["/1/upload/copy/task invalid_value"])
            }
        }
    }

    @Test(
        arguments: [
            (#"{}"#, ""),
            (#"{"task": "7", "url": "http://o.example/"}"#, ""),
            (#"{"task": "7"}"#, "/task"),
            (#"{"task": "00000000-0000-0000-0000-000000000000", "headers": {}}"#, "/headers"),
        ]
    )
    func whatIsNoSourceIsRefused(copy: String, place: String) async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let answer = try await server.send("POST", "\(session)/tasks", submission(copy))
            #expect(answer.faults == ["/upload/copy\(place) invalid_value"])
        }
    }

    @Test(
        arguments: [
            (#"{"url": "ftp://o.example/"}"#, "/url invalid_url"),
            (#"{"url": "http://user:word@o.example/"}"#, "/url invalid_url"),
            (
                #"{"url": "http://o.example/", "headers": {"Host": "a"}}"#,
                "/headers/Host forbidden_header"
            ),
            (
                #"{"url": "http://o.example/", "headers": {"A": "b\r\nC: d"}}"#,
                "/headers/A invalid_header"
            ),
        ]
    )
    func whatMayNotBeSentIsRefused(copy: String, fault: String) async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let answer = try await server.send("POST", "\(session)/tasks", submission(copy))
            #expect(answer.faults == ["/upload/copy\(fault)"])
        }
    }

    @Test func theSourceAndItsHeadersHaveABound() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let value = String(repeating: "a", count: 8000)
            let headers = (0..<7).map { #""X-\#($0)": "\#(value)""# }.joined(separator: ", ")
            let copy = #"{"url": "http://o.example/", "headers": {\#(headers)}}"#
            let answer = try await server.send("POST", "\(session)/tasks", submission(copy))
            #expect(answer.faults == ["/upload/copy invalid_value"])
        }
    }
}
