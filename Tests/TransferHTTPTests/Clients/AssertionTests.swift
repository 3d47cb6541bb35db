import Foundation
import Postgres
import Testing
import TransferModel
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

@Suite(.postgresSchema) struct AssertionTests {
    private static let background = "/v1/clients/default/background"
    private static let launch = "/v1/clients/default/launch"

    @Test func anActiveClientHasTimeWithoutLimit() async throws {
        try await APIServer.run { server in
            let answer = try await server.send("POST", "/v1/assertions", #"{"name": "upload"}"#)
            #expect(answer.status == 201)
            let made = try answer.json(AssertionDocument.self)
            #expect(answer.fields["location"] == "/v1/assertions/\(made.id)")
            #expect(made.state == "held")
            #expect(answer.text.contains(#""remaining_seconds":null"#))
            #expect(answer.text.contains(#""expires_at":null"#))
            try await server.clock().pass(1000)
            #expect(try await server.assertion(made.id).remainingSeconds == nil)
            #expect(try await server.lifecycle() == "active")
        }
    }

    @Test func severalShareOneBudgetThatFallsToZero() async throws {
        try await APIServer.run { server in
            let clock = try await server.clock()
            let first = try await server.begin("first")
            try await server.send("POST", Self.background)
            try await clock.pass(10)
            let second = try await server.begin("second")
            let both = try await server.held()
            #expect(both.map(\.name) == ["first", "second"])
            #expect(Set(both.map(\.expiresAt)).count == 1)
            var last = 31.0
            while last > 0 {
                let remaining = try #require(try await server.assertion(first.id).remainingSeconds)
                #expect(remaining < last)
                last = remaining
                try await clock.pass(1)
            }
            for id in [first.id, second.id] {
                let expired = try await server.assertion(id)
                #expect(expired.state == "expired")
                #expect(expired.remainingSeconds == 0)
                // Its end may be reported late, and changes nothing.
                #expect(try await server.send("DELETE", "/v1/assertions/\(id)").status == 204)
                #expect(try await server.assertion(id).state == "expired")
            }
        }
    }

    @Test func oneThatIsHeldDelaysTheSuspension() async throws {
        try await APIServer.run { server in
            let clock = try await server.clock()
            let made = try await server.begin("upload")
            try await server.send("POST", Self.background)
            // Its grace is over by then.
            try await clock.pass(until: 20, before: .assertionsEnd)
            #expect(try await server.lifecycle() == "background")
            let early = try await server.send("POST", "/v1/clients/default/suspend")
            #expect(early.code == .assertionsHeld)
            #expect(early.detail?.contains("GET /v1/assertions lists") == true)
            #expect(try await server.send("DELETE", "/v1/assertions/\(made.id)").status == 204)
            try await server.stores.advanceTimers()
            #expect(try await server.lifecycle() == "suspended")
            #expect(try await server.send("DELETE", "/v1/assertions/\(made.id)").status == 204)
            #expect(try await server.assertion(made.id).state == "ended")
        }
    }

    @Test func theEndIsAnnouncedAndThenALeakTerminatesTheClient() async throws {
        try await APIServer.run { server in
            let clock = try await server.clock()
            _ = try await server.begin("upload")
            _ = try await server.begin("upload")
            let ended = try await server.begin("sync")
            try await server.send("POST", Self.background)
            try await server.send("DELETE", "/v1/assertions/\(ended.id)")
            try await clock.pass(until: 20, before: .assertionsEnd)
            #expect(try await server.clientEvents().count == 1)
            try await clock.pass(until: 3.9, before: .assertionsEnd)
            #expect(
                try await server.clientEvents().map(\.brief).dropFirst()
                    == ["assertion.expiring upload", "assertion.expiring upload"]
            )
            try await clock.pass(until: -1, before: .assertionsEnd)
            #expect(
                try await server.clientEvents().map(\.brief).dropFirst(3) == [
                    "assertion.expired upload", "assertion.expired upload",
                    "background > terminated: assertion_leaked",
                ]
            )
            let leaks = try await server.send("GET", "/v1/clients/default/assertion-leaks")
                .json(Page<AssertionLeakDocument>.self)
            #expect(leaks.items.map(\.name) == ["upload"])
            #expect(leaks.items.map(\.count) == [2])
            let late = try await server.send("POST", "/v1/assertions", #"{"name": "late"}"#)
            #expect(late.code == .clientNotRunning)
        }
    }

    @Test func onlyTheNamesThatLeakedLastAreKept() async throws {
        try await APIServer.run { server in
            let clock = try await server.clock()
            let connection = try await TestDatabase.current.connection()
            _ = try await server.begin("upload")
            _ = try await connection.execute(
                """
                INSERT INTO assertion_leak (client_id, name, count, leaked_at)
                SELECT a.client_id, 'old ' || i, 1, now() - i * interval '1 minute'
                FROM assertion a, generate_series(1, 200) i
                """
            )
            try await server.send("POST", Self.background)
            try await clock.pass(until: -1, before: .assertionsEnd)
            let kept = try await connection.execute("SELECT name FROM assertion_leak").map {
                try $0.decode("name", as: String.self)
            }
            #expect(Set(kept) == Set((1...99).map { "old \($0)" } + ["upload"]))
        }
    }

    @Test func oneThatBeginsInTheLastSecondsIsAnnouncedAtOnce() async throws {
        try await APIServer.run { server in
            let clock = try await server.clock()
            _ = try await server.begin("first")
            try await server.send("POST", Self.background)
            try await clock.pass(until: 3.9, before: .assertionsEnd)
            // A request that comes too late is refused, and changes nothing.
            try await eventually("the second begins in the last seconds") {
                try await clock.move(until: 3.9, before: .assertionsEnd)
                let second = #"{"name": "second"}"#
                return try await server.send("POST", "/v1/assertions", second).status == 201
            }
            try await clock.pass(until: 3.9, before: .assertionsEnd)
            #expect(
                try await server.clientEvents().map(\.brief).dropFirst()
                    == ["assertion.expiring first", "assertion.expiring second"]
            )
        }
    }

    @Test func theNextBackgroundBeginsWithTheWholeBudget() async throws {
        try await APIServer.run { server in
            let clock = try await server.clock()
            let made = try await server.begin("upload")
            try await server.send("POST", Self.background)
            try await clock.pass(until: 3.9, before: .assertionsEnd)
            try await server.send("POST", Self.launch)
            #expect(try await server.assertion(made.id).remainingSeconds == nil)
            let start = Date.now
            try await server.send("POST", Self.background)
            let end = try #require(try await server.assertion(made.id).expiresAt)
            #expect(end.date >= start + 30)
            try await clock.pass(until: 3.9, before: .assertionsEnd)
            #expect(
                try await server.clientEvents().map(\.type).filter { $0 == "assertion.expiring" }
                    .count == 2
            )
        }
    }

    @Test func aLeakGivesBackTheLeasesOfItsClient() async throws {
        try await APIServer.run { server in
            let clock = try await server.clock()
            try await server.send("PUT", "/v1/clients/share")
            for client in ["default", "share"] {
                try await server.send("PUT", "/v1/sessions/a?client=\(client)")
                try await server.send(
                    "POST",
                    "/v1/sessions/a/tasks?client=\(client)",
                    #"{"url": "http://origin.example/a"}"#
                )
                let page = try await server.send(
                    "POST",
                    "/v1/sessions/a/reconnect?client=\(client)"
                )
                #expect(try page.json(ReconnectionDocument.self).items.count == 1)
            }
            _ = try await server.begin("upload")
            try await server.send("POST", Self.background)
            try await clock.pass(31)
            #expect(try await server.lifecycle() == "terminated")
            let again = try await server.send("POST", "/v1/sessions/a/reconnect")
            #expect(try again.json(ReconnectionDocument.self).items.count == 1)
            let other = try await server.send("POST", "/v1/sessions/a/reconnect?client=share")
            #expect(try other.json(ReconnectionDocument.self).items.isEmpty)
        }
    }

    @Test func aForceQuitEndsThemWithoutALeak() async throws {
        try await APIServer.run { server in
            let made = try await server.begin("upload")
            try await server.send("POST", "/v1/clients/default/force-quit")
            #expect(try await server.assertion(made.id).state == "ended")
            let leaks = try await server.send("GET", "/v1/clients/default/assertion-leaks")
            #expect(try leaks.json(Page<AssertionLeakDocument>.self).items.isEmpty)
        }
    }

    @Test func aRepeatedRequestBeginsOne() async throws {
        try await APIServer.run { server in
            let body = #"{"name": "upload", "id": "0192f3a0-0000-7000-8000-000000000001"}"#
            #expect(try await server.send("POST", "/v1/assertions", body).status == 201)
            #expect(try await server.send("POST", "/v1/assertions", body).status == 200)
            let renamed = body.replacing("upload", with: "sync")
            let other = try await server.send("POST", "/v1/assertions", renamed)
            #expect(other.code == .identifierTaken)
            #expect(try await server.held().map(\.name) == ["upload"])
            let foreign = try await server.send("POST", "/v1/assertions", body, as: server.second)
            #expect(foreign.code == .identifierTaken)
            #expect(foreign.detail?.contains("another UUID") == true)
        }
    }

    @Test func aClientHoldsABoundedNumber() async throws {
        try await APIServer.run { server in
            for _ in 0..<Quota.assertionsMax { _ = try await server.begin("a") }
            let more = try await server.send("POST", "/v1/assertions", #"{"name": "a"}"#)
            #expect(more.code == .quotaExceeded)
        }
    }

    @Test(arguments: [
        (#"{"name": ""}"#, "/name invalid_value"),
        (#"{"name": "a\u0000"}"#, "/name invalid_value"),
        (#"{"name": "a", "client": "é"}"#, "/client invalid_identifier"),
        (#"{"name": "a", "id": "1"}"#, "/id invalid_identifier"),
        (#"{"name": "a", "budget": 1}"#, "/budget unknown_field"),
    ])
    func whatMakesNoSenseIsNamed(body: String, fault: String) async throws {
        try await APIServer.run { server in
            let answer = try await server.send("POST", "/v1/assertions", body)
            #expect(answer.faults == [fault])
        }
    }

    @Test func anUnknownOneIsNotFound() async throws {
        try await APIServer.run { server in
            let made = try await server.begin("upload")
            for method in ["GET", "DELETE"] {
                for (path, tenant) in [
                    ("/v1/assertions/\(UUID())", server.first), ("/v1/assertions/1", server.first),
                    ("/v1/assertions/\(made.id)", server.second),
                ] {
                    let answer = try await server.send(method, path, as: tenant)
                    #expect(answer.code == .unknownAssertion, "\(method) \(path)")
                }
            }
            #expect(try await server.assertion(made.id).state == "held")
            #expect(
                try await server.send("GET", "/v1/assertions?client=absent").code == .unknownClient
            )
            let body = #"{"name": "a", "client": "absent"}"#
            #expect(try await server.send("POST", "/v1/assertions", body).code == .unknownClient)
        }
    }
}

extension APIServer {
    fileprivate func begin(_ name: String) async throws -> AssertionDocument {
        try await send("POST", "/v1/assertions", #"{"name": "\#(name)"}"#)
            .json(AssertionDocument.self)
    }

    fileprivate func assertion(_ id: String) async throws -> AssertionDocument {
        try await send("GET", "/v1/assertions/\(id)").json(AssertionDocument.self)
    }

    fileprivate func held() async throws -> [AssertionDocument] {
        try await send("GET", "/v1/assertions").json(Page<AssertionDocument>.self).items
    }
}
