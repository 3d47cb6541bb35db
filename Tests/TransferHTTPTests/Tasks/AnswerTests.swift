import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

/// The answers of clients to questions of their tasks.
@Suite(.postgresSchema) struct AnswerTests {
    /// Makes a task, with further members, that asks whether to start.
    private func asking(
        _ server: APIServer,
        _ session: String,
        _ members: String = ""
    ) async throws -> TaskID {
        let id = try await server.submit(
            session,
            """
            {"url": "http://origin.example/a", \(members) "asks_to_begin": true,
             "earliest_begin_at": "2999-01-01T00:00:00Z"}
            """
        )
        let connection = try await TestDatabase.current.connection()
        _ = try await connection.execute("UPDATE delayed SET due_at = now()")
        _ = try await server.stores.queue.promoteDue()
        return id
    }

    @Test func taskBeginsWhenItsClientSaysSo() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let id = try await asking(server, session)
            let waiting = try await server.send("GET", "/v1/tasks/\(id)").json(TaskDocument.self)
            #expect(waiting.state == "waiting_to_begin")
            #expect(waiting.reason?.contains("asked whether") == true)
            #expect(waiting.until != nil)
            let before = server.wakes.value
            let begin = "/v1/tasks/\(id)/begin"
            let begun = try await server.send("POST", begin, #"{"disposition": "continue"}"#)
            #expect(try begun.json(TaskDocument.self).state == "queued")
            #expect(server.wakes.value == before + 1)
            let again = try await server.send("POST", begin, #"{"disposition": "continue"}"#)
            #expect(again.status == 409)
            #expect(again.code == .taskNotAsked)
            let events = try await server.send("GET", "\(session)/events").text
            #expect(events.contains("task.will_begin"))
        }
    }

    @Test func clientMayCancelOrNameAnotherRequest() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let cancelled = try await asking(server, session)
            let answer = try await server.send(
                "POST",
                "/v1/tasks/\(cancelled)/begin",
                #"{"disposition": "cancel"}"#
            )
            #expect(try answer.json(TaskDocument.self).state == "cancelled")
            let id = try await asking(server, session)
            let body = """
                {"disposition": "use_new_request",
                 "request": {"url": "http://other.example/b", "headers": {"X-A": "1"}}}
                """
            let changed = try await server.send("POST", "/v1/tasks/\(id)/begin", body)
            #expect(try changed.json(TaskDocument.self).url == "http://other.example/b")
            let claim = try await server.claim()
            #expect(claim.headers == [HTTPHeader(name: "X-A", value: "1")])
            #expect(claim.hostKey == HostKey(host: "other.example", port: 80))
        }
    }

    /// The body stays, and without its boundary nobody could read a form.
    @Test func anotherRequestKeepsTheTypeOfTheBody() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let form = #"{"body": {"multipart": [{"name": "a", "text": "x"}]}}"#
            let upload = #""kind": "upload", "upload": \#(form),"#
            let begin = "/v1/tasks/\(try await asking(server, session, upload))/begin"
            func other(_ headers: String) -> String {
                """
                {"disposition": "use_new_request",
                 "request": {"url": "http://b.example/", "headers": \(headers)}}
                """
            }
            let refused = try await server.send(
                "POST",
                begin,
                other(#"{"Content-Type": "text/x"}"#)
            )
            #expect(refused.status == 422)
            let changed = try await server.send("POST", begin, other(#"{"X-A": "1"}"#))
            #expect(changed.status == 200)
            let headers = try await server.claim().headers
            #expect(headers.map(\.name) == ["X-A", "Content-Type"])
            #expect(headers.last?.value.hasPrefix("multipart/form-data; boundary=") == true)
        }
    }

    /// Whoever names the origin reads what is sent there.
    @Test func anotherRequestForWhatIsSentNeedsTheScopeOfAReader() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let download = try await server.submit(session)
            try await server.complete([1, 2, 3])
            let holder = try await server.holder([.control, .submit])
            let both = try await server.holder([.control, .submit, .read])
            let other = """
                {"disposition": "use_new_request", "request": {"url": "http://b.example/"}}
                """
            for source in [
                #"{"path": "reports/r.txt"}"#, #"{"copy": {"task": "\#(download)"}}"#,
                #"{"body": {"text": "a"}}"#,
            ] {
                let upload = #""kind": "upload", "upload": \#(source),"#
                let begin = "/v1/tasks/\(try await asking(server, session, upload))/begin"
                let refused = try await server.send("POST", begin, other, as: holder)
                #expect(refused.status == 403, "\(source)")
                #expect(refused.code == .insufficientScope)
                #expect(try refused.json(ProblemDetails.self).scope == "read")
                let changed = try await server.send("POST", begin, other, as: both)
                #expect(try changed.json(TaskDocument.self).url == "http://b.example/")
                let same = "/v1/tasks/\(try await asking(server, session, upload))/begin"
                let go = #"{"disposition": "continue"}"#
                #expect(try await server.send("POST", same, go, as: holder).status == 200)
            }
            let received = "/v1/tasks/\(try await asking(server, session))/begin"
            #expect(try await server.send("POST", received, other, as: holder).status == 200)
            let absent = "/v1/tasks/\(UUID())/begin"
            #expect(try await server.send("POST", absent, other, as: holder).status == 404)
        }
    }

    /// A session's headers and credential go wherever a task's request does.
    @Test func anotherRequestNeedsTheScopeOfASubmission() async throws {
        try await APIServer.run { server in
            let session = "/v1/sessions/photos"
            try await server.send(
                "PUT",
                session,
                #"{"configuration": {"additional_headers": {"X-Token": "secret"}}}"#
            )
            let holder = try await server.holder([.control, .read])
            let begin = "/v1/tasks/\(try await asking(server, session))/begin"
            let other = """
                {"disposition": "use_new_request", "request": {"url": "http://b.example/"}}
                """
            let refused = try await server.send("POST", begin, other, as: holder)
            #expect(refused.status == 403)
            #expect(refused.code == .insufficientScope)
            #expect(try refused.json(ProblemDetails.self).scope == "submit")
            let go = #"{"disposition": "continue"}"#
            let begun = try await server.send("POST", begin, go, as: holder)
            #expect(try begun.json(TaskDocument.self).url == "http://origin.example/a")
        }
    }

    /// As when two of a client's instances answer.
    @Test func ofTwoAnswersAtOnceOneCounts() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            for _ in 0..<20 {
                let begin = "/v1/tasks/\(try await asking(server, session))/begin"
                @Sendable func answer(_ disposition: String) async throws -> HTTPClient.Answer {
                    try await server.send("POST", begin, #"{"disposition": "\#(disposition)"}"#)
                }
                async let cancelled = answer("cancel")
                async let continued = answer("continue")
                let answers = try await [cancelled, continued]
                #expect(answers.map(\.status).sorted() == [200, 409])
                #expect(answers.contains { $0.code == .taskNotAsked })
            }
        }
    }

    @Test(arguments: [
        (#"{}"#, "/disposition required"),
        (#"{"disposition": "perhaps"}"#, "/disposition invalid_value"),
        (#"{"disposition": "use_new_request"}"#, "/request required"),
        (
            #"{"disposition": "continue", "request": {"url": "http://a.example/"}}"#,
            "/request invalid_value"
        ),
        (
            #"{"disposition": "use_new_request", "request": {"url": "ftp://a.example/"}}"#,
            "/request/url invalid_url"
        ),
        (
            #"{"disposition": "use_new_request", "request": {"url": "http://a.example/", "headers": {"Host": "b"}}}"#,
            "/request/headers/Host forbidden_header"
        ),
    ])
    func whatIsNoAnswerIsRefused(body: String, fault: String) async throws {
        try await APIServer.run { server in
            let id = try await asking(server, try await server.session())
            let answer = try await server.send("POST", "/v1/tasks/\(id)/begin", body)
            #expect(answer.status == 422)
            #expect(answer.faults == [fault])
            #expect(
                try await server.stores.tasks.task(tenant: server.first.id, id: id)?.state
                    == .waitingToBegin
            )
        }
    }

    @Test(arguments: [
        ("begin", "`continue`, `use_new_request`, `cancel`"),
        ("credential", "`use`, `default`, `cancel`, `reject`"),
    ])
    func theKnownAnswersAreNamed(route: String, known: String) async throws {
        try await APIServer.run { server in
            let id = try await asking(server, try await server.session())
            let answer = try await server.send(
                "POST",
                "/v1/tasks/\(id)/\(route)",
                #"{"disposition": "perhaps"}"#
            )
            #expect(answer.faults == ["/disposition invalid_value"])
            #expect(answer.text.contains("Must be one of \(known)."))
        }
    }

    @Test func anotherTenantsTaskIsUnknown() async throws {
        try await APIServer.run { server in
            let id = try await asking(server, try await server.session())
            for disposition in ["continue", "cancel"] {
                let answer = try await server.send(
                    "POST",
                    "/v1/tasks/\(id)/begin",
                    "{\"disposition\": \"\(disposition)\"}",
                    as: server.second
                )
                #expect(answer.status == 404)
            }
            let task = try await server.stores.tasks.task(tenant: server.first.id, id: id)
            #expect(task?.state == .waitingToBegin)
        }
    }
}
