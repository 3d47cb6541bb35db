import Foundation
import Postgres
import Synchronization
import Testing
import TransferModel
import TransferStore
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

/// The end of keys, as requests that last see it.
///
/// Keys are revoked in the database, as another instance does.
@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct KeyEndTests {
    /// The time in which the end of a key has to hold everywhere.
    private static let bound: Duration = .seconds(5)

    @Test func aRevokedKeyIsRefusedAndItsStreamEnds() async throws {
        // Beside the look-ups, this is all that it takes.
        #expect(Authenticator.cacheLifetime + KeyWatch.pauseDefault < Self.bound)
        try await APIServer.run { server in
            let session = try await server.session()
            let holder = try await server.holder()
            let stream = try server.stream("\(session)/events", as: holder)
            let other = try server.stream("\(session)/events")
            try await eventually("both streams have begun") {
                !stream.text.isEmpty && !other.text.isEmpty
            }
            #expect(try await server.stores.keys.revokeAPIKey(id: holder.key.id))
            try await eventually("the stream ends") { stream.isEnded }
            #expect(stream.isWhole)
            try await eventually("the key is refused") {
                try await server.status("GET", "/v1/tenant", as: holder) == 401
            }
            _ = try await server.submit(session)
            try await eventually("another key's stream goes on") { other.events.count == 1 }
            #expect(stream.events.isEmpty)
        }
    }

    @Test func aRevokedKeyEndsWaitingRequests() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let task = try await server.submit(session)
            let holder = try await server.holder()
            let place = try await server.place(1, in: session)
            let end = try await server.send("GET", "/v1/events").json(EventPage.self).next
            let paths = [
                "\(session)/events?after=\(place)", "/v1/events?after=\(end)", "/v1/tasks/\(task)",
            ]
            let started = ContinuousClock.now
            try await withThrowingTaskGroup(of: HTTPClient.Answer.self) { group in
                for path in paths {
                    group.addTask {
                        try await server.send(
                            "GET",
                            path,
                            as: holder,
                            fields: [("Prefer", "wait=60")]
                        )
                    }
                }
                try await eventually("the key is in use") {
                    let keys = try await server.stores.keys.apiKeys(
                        tenant: server.first.id,
                        after: nil,
                        limit: 100
                    )
                    return keys.contains { $0.id == holder.key.id && $0.lastUsedAt != nil }
                }
                #expect(try await server.stores.keys.revokeAPIKey(id: holder.key.id))
                for try await answer in group { #expect(answer.code == .unauthorized) }
            }
            #expect(ContinuousClock.now - started < .seconds(30))
        }
    }

    @Test func anExpiredKeyIsRefusedAndItsStreamEndsAtThatMoment() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let holder = try await server.holder(expiresAt: Date.now + 20)
            #expect(try await server.status("GET", "/v1/tenant", as: holder) == 200)
            let stream = try server.stream("\(session)/events", as: holder)
            try await eventually("the stream has begun") { !stream.text.isEmpty }
            // The first wait of a request to the end of its time, had its key not expired.
            let answer = try await server.send(
                "GET",
                "\(session)/events",
                as: holder,
                fields: [("Prefer", "wait=60")]
            )
            #expect(answer.code == .unauthorized)
            try await eventually("the stream ends") { stream.isEnded }
            #expect(stream.isWhole)
            #expect(try await server.status("GET", "/v1/tenant", as: holder) == 401)
        }
    }

    @Test func aSubmissionOfLinesEndsWithItsKey() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let holder = try await server.holder()
            let stream = try server.stream("\(session)/events", as: holder)
            try await eventually("the stream has begun") { !stream.text.isEmpty }
            let line = #"{"url": "http://a.example/", "autostart": false}"# + "\n"
            let client = try server.openStream(as: holder)
            try client.send(chunk: String(repeating: line, count: 1000))
            try await eventually("the first part is answered") {
                client.text.split(separator: "\n").count == 1000
            }
            #expect(try await server.stores.keys.revokeAPIKey(id: holder.key.id))
            // What ends the stream ends the submission, too.
            try await eventually("the stream ends") { stream.isEnded }
            try client.send(chunk: String(repeating: line, count: 1000))
            try await eventually("the answer ends") { client.isWhole }
            let last = try #require(client.text.split(separator: "\n").last)
            let problem = try JSONDecoder().decode(ProblemDetails.self, from: Data(last.utf8))
            #expect(problem.code == .unauthorized)
            client.goAway()
        }
    }

    /// A body may take weeks, and its upload is sent in the name of the key.
    @Test func aBodyEndsWithItsKey() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let path = "/v1/tasks/\(try await server.submit(session, BodyTests.task))"
            func offset() async throws -> String? {
                try await server.send("GET", "\(path)/body").fields["upload-offset"]
            }
            let holder = try await server.holder()
            let stream = try server.stream("\(session)/events", as: holder)
            try await eventually("the stream has begun") { !stream.text.isEmpty }
            let client = try server.openBody(of: path, as: holder)
            try client.send(Array(BodyTests.bytes[..<100_000]))
            try await eventually("the first part is there") { try await offset() == "100000" }
            #expect(try await server.stores.keys.revokeAPIKey(id: holder.key.id))
            // What ends the stream ends the body, too.
            try await eventually("the stream ends") { stream.isEnded }
            try client.send(Array(BodyTests.bytes[100_000..<101_000]))
            try await eventually("the body is refused") {
                client.head.hasPrefix("HTTP/1.1 401 ")
            }
            #expect(try await offset() == "100000")
            client.goAway()
        }
    }

    @Test func aHundredRequestsRecordOneUse() async throws {
        try await APIServer.run { server in
            let holder = try await server.holder()
            for _ in 0..<100 {
                #expect(try await server.status("GET", "/v1/tenant", as: holder) == 200)
            }
            let used = try await server.lastUse(of: holder)
            #expect(used != nil)
            try await server.stores.keys.recordUse(ofAPIKey: holder.key.id)
            #expect(try await server.lastUse(of: holder) == used)
            // A minute later it is recorded again.
            let connection = try await TestDatabase.current.connection()
            _ = try await connection.execute(
                "UPDATE api_key SET last_used_at = last_used_at - interval '1 minute'"
            )
            try await server.stores.keys.recordUse(ofAPIKey: holder.key.id)
            let later = try #require(try await server.lastUse(of: holder))
            #expect(later > (used ?? .now))
        }
    }
}

extension APIServer {
    fileprivate func lastUse(of tenant: Tenant) async throws -> Date? {
        try await stores.keys.apiKeys(tenant: tenant.id, after: nil, limit: 100)
            .first { $0.id == tenant.key.id }?.lastUsedAt
    }

    /// Starts a submission of lines that are still to come.
    fileprivate func openStream(as tenant: Tenant) throws -> StreamClient {
        try open(
            "POST /v1/sessions/photos/tasks",
            ["Content-Type: \(TaskStream.mediaType)", "Transfer-Encoding: chunked"],
            as: tenant
        )
    }

    /// Starts the body of a task, whose bytes are still to come.
    fileprivate func openBody(of task: String, as tenant: Tenant) throws -> StreamClient {
        try open(
            "PUT \(task)/body",
            ["Content-Type: application/octet-stream", "Content-Length: \(BodyTests.total)"],
            as: tenant
        )
    }

    private func open(
        _ request: String,
        _ fields: [String],
        as tenant: Tenant
    ) throws -> StreamClient {
        let lines =
            [
                "\(request) HTTP/1.1", "Host: localhost", "Connection: close",
                "Authorization: Bearer \(tenant.key.serialized)",
            ] + fields
        let head = Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
        return try StreamClient(port: client.port, request: head)
    }
}
