import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

/// `ETag`, `If-Match` and `If-None-Match` of what clients change (RFC 9110 §13.1).
@Suite(.postgresSchema) struct ConditionalChangeTests {
    /// What can be changed, and a body that changes it.
    private struct Subject: Sendable {
        let path: String
        let change: String
    }

    private static let sessionChange = #"{"configuration": {"timeout_for_request": 30}}"#

    private func subjects(_ server: APIServer) async throws -> [Subject] {
        let session = try await server.session()
        let task = try await server.submit(session)
        let subscription = try await server.send(
            "POST",
            "/v1/subscriptions",
            #"{"url": "https://receiver.example/"}"#
        ).json(SubscriptionDocument.self)
        return [
            Subject(path: session, change: Self.sessionChange),
            Subject(path: "/v1/tasks/\(task)", change: #"{"priority": 1}"#),
            Subject(path: "/v1/subscriptions/\(subscription.id)", change: #"{"concurrency": 2}"#),
            Subject(path: "/v1/tenant/background-settings", change: #"{"capacity": "busy"}"#),
        ]
    }

    @Test func aChangeIsMadeToTheRevisionThatWasReadAndToNoOther() async throws {
        try await APIServer.run { server in
            for subject in try await subjects(server) {
                let path = subject.path
                let read = try #require(try await server.send("GET", path).fields["etag"])
                let change: (String) async throws -> Int = { tags in
                    try await server.send(
                        "PATCH",
                        path,
                        subject.change,
                        fields: [("If-Match", tags)]
                    ).status
                }
                for tags in ["W/\(read)", "\"x\"", "\"1.\"", "", "7"] {
                    #expect(try await change(tags) == 412, "\(path) \(tags)")
                }
                #expect(try await server.send("GET", path).fields["etag"] == read)
                #expect(try await change("\"x\", \(read)") == 200, "\(path)")
                #expect(try await change(read) == 412, "\(path)")
                #expect(try await change("*") == 200, "\(path)")
                let now = try #require(try await server.send("GET", path).fields["etag"])
                #expect(try await change(now) == 200, "\(path)")
                let refused = try await server.send(
                    "PATCH",
                    path,
                    subject.change,
                    fields: [("If-Match", now)]
                ).json(ProblemDetails.self)
                #expect(refused.codeName == "precondition_failed")
                #expect(refused.detail?.contains("`If-Match` needs the current `ETag`") == true)
            }
        }
    }

    @Test func aDocumentThatTheClientHasIsNotSentAgain() async throws {
        try await APIServer.run { server in
            for subject in try await subjects(server) {
                let path = subject.path
                let tag = try #require(try await server.send("GET", path).fields["etag"])
                for known in [tag, "W/\(tag)", "\"x\", \(tag)", "*"] {
                    let answer = try await server.send(
                        "GET",
                        path,
                        fields: [("If-None-Match", known)]
                    )
                    #expect(answer.status == 304, "\(path) \(known)")
                    #expect(answer.body.isEmpty)
                    #expect(answer.fields["etag"] == tag)
                }
                _ = try await server.send("PATCH", path, subject.change)
                let changed = try await server.send(
                    "GET",
                    path,
                    fields: [("If-None-Match", tag)]
                )
                #expect(changed.status == 200, "\(path)")
                #expect(changed.fields["etag"] != tag)
            }
        }
    }

    @Test func progressMakesAnotherTagAndFailsNoChange() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let read = try #require(try await server.send("GET", session).fields["etag"])
            _ = try await server.submit(session)
            let news = try await server.send("GET", session, fields: [("If-None-Match", read)])
            #expect(news.status == 200)
            let changed = try await server.send(
                "PATCH",
                session,
                Self.sessionChange,
                fields: [("If-Match", read)]
            )
            #expect(changed.status == 200)
        }
    }

    @Test func ofManyWithTheSameTagOneIsMade() async throws {
        try await APIServer.run { server in
            for subject in try await subjects(server) {
                let path = subject.path
                for _ in 0..<3 {
                    let tag = try #require(try await server.send("GET", path).fields["etag"])
                    let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                        for _ in 0..<16 {
                            group.addTask {
                                try await server.send(
                                    "PATCH",
                                    path,
                                    subject.change,
                                    fields: [("If-Match", tag)]
                                ).status
                            }
                        }
                        return try await group.reduce(into: [Int: Int]()) {
                            $0[$1, default: 0] += 1
                        }
                    }
                    #expect(statuses == [200: 1, 412: 15], "\(path)")
                }
            }
        }
    }

    @Test func aSessionIsPutUnderACondition() async throws {
        try await APIServer.run { server in
            let path = "/v1/sessions/s"
            let body = #"{"configuration": {"timeout_for_request": 30}}"#
            let put: ([(String, String)]) async throws -> Int = { fields in
                try await server.send("PUT", path, body, fields: fields).status
            }
            #expect(try await put([("If-Match", "*")]) == 412)
            #expect(try await put([("If-Match", "\"1.x\"")]) == 412)
            #expect(try await server.send("GET", path).status == 404)
            #expect(try await put([("If-None-Match", "*")]) == 201)
            #expect(try await put([("If-None-Match", "*")]) == 412)
            #expect(try await put([("If-Match", "*")]) == 200)
            let tag = try #require(try await server.send("GET", path).fields["etag"])
            #expect(try await put([("If-Match", tag)]) == 200)
            #expect(try await put([("If-Match", tag)]) == 412)
            // Without a configuration nothing is changed, but the condition holds all the same.
            let bare = try await server.send("PUT", path, fields: [("If-Match", tag)])
            #expect(bare.status == 412)
            let old = try #require(try await server.send("GET", path).fields["etag"])
            _ = try await server.send("DELETE", path)
            #expect(try await put([("If-None-Match", "*")]) == 201)
            // A session that was made again under its name is another one.
            #expect(try await put([("If-Match", old)]) == 412)
        }
    }

    /// A request that is repeated after a lost response ends no other session.
    @Test func aSessionIsEndedUnderACondition() async throws {
        try await APIServer.run { server in
            let path = "/v1/sessions/s"
            for (method, suffix) in [("DELETE", ""), ("POST", "/invalidate"), ("POST", "/finish")] {
                let end: (String?) async throws -> Int = { tag in
                    try await server.send(
                        method,
                        path + suffix,
                        fields: tag.map { [("If-Match", $0)] } ?? []
                    ).status
                }
                let tag: () async throws -> String = {
                    try await server.send("GET", path).fields["etag"] ?? ""
                }
                #expect(try await server.send("PUT", path).status == 201)
                let old = try await tag()
                #expect(try await end("W/\(old)") == 412, "\(suffix)")
                _ = try await server.send("PATCH", path, Self.sessionChange)
                #expect(try await end(old) == 412, "\(suffix)")
                let current = try await tag()
                #expect(try await end(current) == 204, "\(suffix)")
                #expect(try await end(current) == 404, "\(suffix)")
                #expect(try await server.send("PUT", path).status == 201)
                #expect(try await end(current) == 412, "\(suffix)")
                #expect(try await server.send("GET", path).status == 200)
                #expect(try await end("*") == 204, "\(suffix)")
            }
            // One that ends with its last task may be told so again.
            let session = try await server.session()
            _ = try await server.submit(session)
            let tag = try #require(try await server.send("GET", session).fields["etag"])
            for _ in 0..<2 {
                let finished = try await server.send(
                    "POST",
                    "\(session)/finish",
                    fields: [("If-Match", tag)]
                )
                #expect(finished.status == 202)
            }
        }
    }

    @Test func aSubscriptionThatTheServiceDisabledHasChanged() async throws {
        try await APIServer.run { server in
            let created = try await server.send(
                "POST",
                "/v1/subscriptions",
                #"{"url": "https://receiver.example/"}"#
            ).json(SubscriptionDocument.self)
            let path = "/v1/subscriptions/\(created.id)"
            let tag = try #require(try await server.send("GET", path).fields["etag"])
            _ = try await server.submit(try await server.session())
            let worker = WorkerIdentity(
                incarnation: try await server.stores.workers.registerWorker(name: "test")
            )
            let due = try await server.stores.deliveries.claimDeliveries(
                worker.reserve(1),
                limit: 1,
                lease: .seconds(60)
            )
            _ = try await server.stores.deliveries.recordDeliveryFailed(
                try #require(due.claims.first),
                sequence: 1,
                DeliverySetback(attempt: .fixture, retryAfter: nil, isGone: true)
            )
            let refused = try await server.send(
                "PATCH",
                path,
                #"{"description": "x"}"#,
                fields: [("If-Match", tag)]
            )
            #expect(refused.status == 412)
        }
    }
}
