import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

/// Lists of tasks and of sessions, with what narrows them.
@Suite(.postgresSchema) struct TaskListTests {
    /// Reads a list page by page, and returns the client strings of its tasks.
    private func strings(_ path: String, _ server: APIServer) async throws -> [String] {
        var found: [String] = []
        var cursor: String?
        repeat {
            let page = try await server.send("GET", path + (cursor.map { "&cursor=\($0)" } ?? ""))
                .json(Page<TaskDocument>.self)
            #expect(page.hasMore == (page.nextCursor != nil))
            found += page.items.map { $0.clientPersistedString ?? "" }
            cursor = page.nextCursor
        } while cursor != nil
        return found
    }

    private func submit(
        _ session: String,
        _ string: String,
        _ server: APIServer,
        _ members: String = ""
    ) async throws -> TaskID {
        // The order of tasks within a millisecond is not theirs.
        let before = UUID.version7().uuid
        while UUID.version7().uuid.5 == before.5 { await Task.yield() }
        return try await server.submit(
            session,
            #"{"url":"http://origin.example/a","client_persisted_string":"\#(string)"\#(members)}"#
        )
    }

    @Test func aSessionsTasksAreNarrowedAndTurnedRound() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            _ = try await submit(session, "a", server)
            let failed = try await submit(session, "b", server)
            _ = try await submit(session, "c", server, #","autostart":false"#)
            let created = try await server.send("GET", "/v1/tasks/\(failed)")
                .json(TaskDocument.self).createdAt.rfc3339
            _ = try await submit(
                session,
                "d",
                server,
                #","kind":"upload","upload":{"body":{"text":"a"}},"autostart":false"#
            )
            let cancelled = try await submit(session, "e", server)
            try await server.send("POST", "/v1/tasks/\(cancelled)/cancel")
            let claims = try await server.claimAll().filter { $0.task == failed }
            let failure = TransferFailure(.connectionLost, "The connection broke.")
            _ = try await server.stores.completions.end(
                claims.map { AttemptEnd(task: $0.task, fence: $0.fence, outcome: .failed(failure)) }
            )
            let expected: [(query: String, strings: [String])] = [
                ("", ["a", "b", "c", "d", "e"]),
                ("&order=newest", ["e", "d", "c", "b", "a"]),
                ("&state=failed,cancelled", ["b", "e"]),
                ("&state=failed,cancelled&order=newest", ["e", "b"]),
                ("&state=suspended,failed", ["b", "c", "d"]),
                ("&state=suspended&order=newest", ["d", "c"]),
                ("&kind=upload", ["d"]),
                ("&kind=download&state=suspended", ["c"]),
                ("&client_persisted_string=d", ["d"]),
                ("&client_persisted_string=D", []),
                ("&created_from=\(created)", ["b", "c", "d", "e"]),
                ("&created_before=\(created)", ["a"]),
                ("&created_before=\(created)&order=newest", ["a"]),
                ("&created_from=\(created)&order=newest", ["e", "d", "c", "b"]),
                ("&created_from=2100-01-01T00:00:00Z", []),
            ]
            for (query, strings) in expected {
                for limit in [1, 2, 200] {
                    let path = "\(session)/tasks?limit=\(limit)\(query)"
                    #expect(try await self.strings(path, server) == strings, "\(path)")
                }
            }
        }
    }

    @Test func theTasksOfAllSessionsAreListed() async throws {
        try await APIServer.run { server in
            for name in ["x", "empty", "y", "z"] {
                let session = try await server.session(name)
                if name == "empty" { continue }
                for number in 1...3 {
                    let id = try await submit(session, "\(name)\(number)", server)
                    if number == 2 { try await server.send("POST", "/v1/tasks/\(id)/cancel") }
                }
            }
            let other = try await server.session("x", as: server.second)
            _ = try await server.submit(
                other,
                #"{"url":"http://origin.example/a","client_persisted_string":"foreign"}"#,
                as: server.second
            )
            let all = ["x1", "x2", "x3", "y1", "y2", "y3", "z1", "z2", "z3"]
            for limit in [1, 2, 3, 4, 200] {
                let path = "/v1/tasks?limit=\(limit)"
                #expect(try await strings(path, server) == all)
                #expect(try await strings("\(path)&order=newest", server) == all.reversed())
                #expect(
                    try await strings("\(path)&state=cancelled", server) == ["x2", "y2", "z2"]
                )
                #expect(
                    try await strings("\(path)&client_persisted_string=y3", server) == ["y3"]
                )
            }
            // Those of an ended session are read by its name.
            try await server.send("DELETE", "/v1/sessions/y")
            #expect(
                try await strings("/v1/tasks?limit=200", server)
                    == all.filter { !$0.hasPrefix("y") }
            )
        }
    }

    @Test func aListOfManySessionsComesToItsEnd() async throws {
        try await APIServer.run { server in
            let count = 2 * TaskListStore.sessionsPerPageMax + 10
            for number in 0..<count {
                let session = try await server.session("s\(number)")
                if number % 2 == 0 { _ = try await server.submit(session) }
            }
            #expect(try await strings("/v1/tasks?limit=200", server).count == count / 2)
            #expect(try await strings("/v1/tasks?limit=7&state=queued", server).count == count / 2)
            #expect(try await strings("/v1/tasks?limit=7&state=failed", server).isEmpty)
        }
    }

    @Test(arguments: [
        "state=fast", "state=queued,queued", "state=", "kind=file", "created_from=yesterday",
        "created_before=2026-01-01", "order=up", "order=",
    ])
    func whatCannotBeListedIsNamed(query: String) async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            for path in ["\(session)/tasks", "/v1/tasks"] {
                let answer = try await server.send("GET", "\(path)?\(query)")
                #expect(answer.status == 422)
                let name = try #require(query.split(separator: "=").first)
                let problem = try answer.json(ProblemDetails.self)
                #expect(problem.errors?.first?.parameter == String(name))
            }
        }
    }

    @Test func sessionsAreListedByPrefixAndByOutstandingWork() async throws {
        try await APIServer.run { server in
            for name in ["photos-1", "photos-2", "photos%2F3", "music"] {
                _ = try await server.session(name)
            }
            _ = try await server.submit("/v1/sessions/photos-2")
            let names: (String) async throws -> [String] = { query in
                try await server.send("GET", "/v1/sessions?\(query)")
                    .json(Page<SessionDocument>.self).items.map(\.identifier)
            }
            #expect(try await names("prefix=photos") == ["photos-1", "photos-2", "photos/3"])
            #expect(try await names("prefix=photos%2F") == ["photos/3"])
            #expect(try await names("prefix=Photos").isEmpty)
            #expect(try await names("prefix=photos%25").isEmpty)
            #expect(try await names("outstanding=true") == ["photos-2"])
            #expect(try await names("outstanding=true&prefix=m").isEmpty)
            let page = try await server.send("GET", "/v1/sessions?prefix=photos&limit=2")
                .json(Page<SessionDocument>.self)
            #expect(page.hasMore)
            let cursor = try #require(page.nextCursor)
            #expect(try await names("prefix=photos&limit=2&cursor=\(cursor)") == ["photos/3"])
        }
    }

    @Test func aTaskThatCannotBeReadSpoilsNoPage() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            var ids: [TaskID] = []
            for string in ["a", "b", "c"] { ids.append(try await submit(session, string, server)) }
            try await server.send("POST", "/v1/tasks/\(ids[1])/cancel")
            // As a later release would write it.
            _ = try await TestDatabase.current.connection().execute(
                """
                UPDATE outcome SET failure = '{"code": "of_the_future", "message": "?"}'
                """
            )
            for path in ["\(session)/tasks", "/v1/tasks"] {
                let page = try await server.send("GET", path).json(Page<TaskDocument>.self)
                #expect(page.items.map(\.id) == [ids[0], ids[2]].map(\.description))
                #expect(page.unreadable == [ids[1].description])
                // A page that has nothing else is followed by the others.
                #expect(try await strings("\(path)?limit=1", server) == ["a", "c"])
            }
        }
    }

    /// The bytes of a task that cannot be read count among those that end its page.
    @Test func aPageThatItsBytesEndIsFollowedByTheOthers() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let string = String(repeating: "x", count: 64 * 1024)
            var ids: [String] = []
            for _ in 0..<PageSize.pageBytesMax / string.utf8.count + 5 {
                ids.append(try await submit(session, string, server).description)
            }
            try await server.send("POST", "/v1/tasks/\(ids[1])/cancel")
            _ = try await TestDatabase.current.connection().execute(
                """
                UPDATE outcome SET failure = '{"code": "of_the_future", "message": "?"}'
                """
            )
            for path in ["\(session)/tasks", "/v1/tasks"] {
                var found: [String] = []
                var query: String? = "limit=100"
                while let current = query {
                    let page = try await server.send("GET", "\(path)?\(current)")
                        .json(Page<TaskDocument>.self)
                    found += page.items.map(\.id) + (page.unreadable ?? [])
                    query = page.nextCursor.map { "limit=100&cursor=\($0)" }
                }
                #expect(found.sorted() == ids.sorted(), "\(path)")
            }
        }
    }

    @Test func pagesOfEventsSayWhetherThereMayBeMore() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            for _ in 0..<3 { _ = try await server.submit(session) }
            let first = try await server.send("GET", "\(session)/events?limit=2")
                .json(EventPage.self)
            #expect(first.hasMore)
            let rest = try await server.send("GET", "\(session)/events?after=\(first.next)&limit=2")
                .json(EventPage.self)
            #expect(!rest.hasMore)
        }
    }
}
