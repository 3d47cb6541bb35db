import Foundation
import Glibc
import Postgres
import Testing
import TransferContainer
import TransferModel
import TransferStore
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

/// The answers to clients about quotas, a full queue and tasks that are no longer kept.
@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct BoundsTests {
    private static let task = #"{"url": "https://example.org/a"}"#

    @Test func aQuotaIsNamedWithItsMaximum() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            _ = try await server.stores.tenants.limitTenant(
                named: "first",
                changes: TenantLimitChanges(outstandingTasksMax: 1)
            )
            let taken = try await server.send("POST", "\(session)/tasks", Self.task)
            #expect(taken.status == 202)
            let start = ContinuousClock.now
            let refused = try await server.send("POST", "\(session)/tasks", Self.task)
            #expect(refused.status == 429)
            // A client that goes on regardless is slowed.
            #expect(ContinuousClock.now - start >= APIResponder.refusalPause)
            let problem = try refused.json(ProblemDetails.self)
            #expect(problem.code == .quotaExceeded)
            #expect(problem.limit == "outstanding_tasks")
            #expect(problem.maximum == 1)
        }
    }

    /// Whoever shares the processors with the requests of this instance sees them.
    @Test func aTenantIsThereByItsRequests() async throws {
        let presence = TenantPresence()
        let before = ContinuousClock.now
        try await APIServer.run(presence: presence) { server in
            #expect(presence.isAlone(server.second.id, at: before))
            let answer = try await server.send("GET", "/v1/sessions", as: server.first)
            #expect(answer.status == 200)
            #expect(!presence.isAlone(server.second.id, at: before))
            #expect(presence.isAlone(server.first.id, at: before))
        }
    }

    @Test func aFullQueueIsToBeTriedAgain() async throws {
        var settings = StoreSettings()
        settings.queueMax = 1
        try await APIServer.run(settings: settings) { server in
            let session = try await server.session()
            let batch = "[\(Self.task), \(Self.task)]"
            let refused = try await server.send("POST", "\(session)/tasks", batch)
            #expect(refused.status == 503)
            #expect(refused.code == .queueFull)
            #expect(refused.fields["retry-after"] == "30")
        }
    }

    /// What is left is for the tasks that there are.
    @Test(.enabled("mounting a file system needs root") { geteuid() == 0 })
    func aNearlyFullDatabaseTakesNoNewTasks() async throws {
        let folder = try TmpfsFolder("full", "size=80m")
        let container = try Container(
            directory: "\(folder.path)/containers",
            besideDatabaseIn: folder.path
        )
        try await APIServer.run(container: container) { server in
            let session = try await server.session()
            let id = try await server.submit(session)
            let taken = open("\(folder.path)/database", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
            defer { close(taken) }
            #expect(posix_fallocate(taken, 0, 60 << 20) == 0)
            let refused = try await server.send("POST", "\(session)/tasks", Self.task)
            #expect(refused.status == 503)
            #expect(refused.code == .unavailable)
            #expect(refused.fields["retry-after"] != nil)
            let cancelled = try await server.send("POST", "/v1/tasks/\(id)/cancel")
            #expect(cancelled.status == 200)
            #expect(ftruncate(taken, 0) == 0)
            _ = try await server.submit(session)
        }
    }

    /// A slow sender of a body occupies room for the bytes that have come, and only as long as it
    /// sends.
    @Test(arguments: ["application/json", "application/x-ndjson"])
    func allBodiesTogetherAreBounded(type: String) async throws {
        try await APIServer.run(bodyBytesMax: 1_000_000) { server in
            let path = "\(try await server.session())/tasks"
            let front = """
                POST \(path) HTTP/1.1\r
                Host: a\r
                Authorization: Bearer \(server.first.key.serialized)\r
                Content-Type: \(type)\r
                Content-Length: 2000000\r
                \r

                """
            let slow = Array(front.utf8) + [UInt8](repeating: 0x20, count: 400_000)
            func begin() throws -> Int32 {
                let socket = try HTTPClient.connect(server.client.port)
                #expect(slow.withUnsafeBytes { send(socket, $0.baseAddress, $0.count, 0) } > 0)
                return socket
            }
            let body = Self.task + String(repeating: " ", count: 300_000)
            func submit() async throws -> HTTPClient.Answer {
                try await server.send("POST", path, body, fields: [("Content-Type", type)])
            }
            var socket = try begin()
            try await eventually("there is no room for another body") {
                let answer = try await submit()
                guard answer.status == 503 else {
                    // The slow one may have come second and been refused.
                    close(socket)
                    socket = try begin()
                    return false
                }
                #expect(answer.code == .unavailable)
                #expect(answer.fields["retry-after"] == "1")
                return true
            }
            // A small body still fits.
            #expect(try await server.send("POST", path, Self.task).status == 202)
            close(socket)
            try await eventually("there is room again") { try await submit().status == 202 }
            // The room is given back each time.
            for _ in 0..<10 { #expect(try await submit().status == 202) }
        }
    }

    /// A refused body keeps its room until its client is told, so that those of a tenant follow
    /// each other, however many connections bring them.
    @Test func largeBodiesThatAreRefusedAreSlowed() async throws {
        // A tenant has half of it: room for one of them.
        try await APIServer.run(bodyBytesMax: 400_000) { server in
            let path = "\(try await server.session())/tasks"
            let body = "[\(Self.task),]" + String(repeating: " ", count: 150_000)
            let start = ContinuousClock.now
            let codes = try await withThrowingTaskGroup(of: ProblemDetails.Code?.self) { group in
                for _ in 0..<3 {
                    group.addTask { try await server.sendPatiently("POST", path, body).code }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(codes == [.malformedJSON, .malformedJSON, .malformedJSON])
            #expect(ContinuousClock.now - start >= APIResponder.refusalPause * 3)
        }
    }

    @Test func aTaskSaysUntilWhenItIsKeptAndIsThenGone() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let body = #"{"configuration": {"result_retention": 3600}}"#
            let patched = try await server.send("PATCH", session, body).json(SessionDocument.self)
            #expect(patched.configuration.resultRetention == 3600)
            let receipt = try await server.send("POST", "\(session)/tasks", Self.task)
                .json(TaskReceipt.self)
            let path = receipt.location
            let task = try await server.send("POST", "\(path)/cancel").json(TaskDocument.self)
            let finished = try #require(task.finishedAt)
            #expect(task.expiresAt == Timestamp(finished.date + 3600))
            let cleared = #"{"configuration": {"result_retention": null}}"#
            let session2 = try await server.send("PATCH", session, cleared)
                .json(SessionDocument.self)
            #expect(session2.configuration.resultRetention == nil)
            let week = try await server.send("GET", path).json(TaskDocument.self)
            #expect(week.expiresAt == Timestamp(finished.date + 7 * 24 * 3600))
            try await server.stores.retention.expire([
                TaskID(try #require(UUID(uuidString: receipt.id)))
            ])
            for suffix in ["", "/content", "/attempts", "/metrics"] {
                let gone = try await server.send("GET", path + suffix)
                #expect(gone.status == 410 && gone.code == .taskExpired)
            }
            #expect(try await server.send("POST", "\(path)/cancel").code == .unknownTask)
            // To other tenants the task never existed.
            let other = try await server.send("GET", path, as: server.second)
            #expect(other.code == .unknownTask)
            let events = try await server.send("GET", "\(session)/events").json(EventPage.self)
            #expect(events.items.last?.type == "session.events_finished")
        }
    }

    @Test(arguments: ["59", "315360001", "-1"])
    func aRetentionIsWithinBounds(seconds: String) async throws {
        try await APIServer.run { server in
            let answer = try await server.send(
                "PUT",
                "/v1/sessions/a",
                #"{"configuration": {"result_retention": \#(seconds)}}"#
            )
            #expect(answer.status == 422)
            #expect(
                try answer.json(ProblemDetails.self).errors?.first?.pointer
                    == "/configuration/result_retention"
            )
        }
    }
}
