import Foundation
import Testing
import TransferModel
import TransferStore
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

/// Tasks that have ended, and are retried or deleted.
@Suite(.postgresSchema) struct EndedTaskTests {
    private static let failure = TransferFailure(.connectionLost, "The connection broke.")

    private static func fail(_ server: APIServer) async throws {
        let ends = try await server.claimAll().map {
            AttemptEnd(task: $0.task, fence: $0.fence, outcome: .failed(failure))
        }
        _ = try await server.stores.completions.end(ends)
    }

    @Test func aFailedTaskIsRetried() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let id = try await server.submit(session)
            try await Self.fail(server)
            let path = "/v1/tasks/\(id)"
            let wakes = server.wakes.value
            // Repeated, it is the same.
            for _ in 0..<2 {
                let answer = try await server.send("POST", "\(path)/retry")
                #expect(answer.status == 200)
                let task = try answer.json(TaskDocument.self)
                #expect(task.id == id.description)
                #expect(task.state == "queued")
                #expect(task.error == nil)
            }
            #expect(server.wakes.value > wakes)
            try await server.complete([1, 2, 3])
            let late = try await server.send("POST", "\(path)/retry")
            #expect(late.status == 409)
            #expect(late.code == .taskEnded)
            let events = try await server.send("GET", "\(session)/events").json(EventPage.self)
            let types = events.items.map(\.type)
            #expect(types.filter { $0 == "task.retried" }.count == 1)
            #expect(types.filter { $0 == "session.events_finished" }.count == 2)
            let attempts = try await server.send("GET", "\(path)/attempts")
                .json(AttemptList.self).items
            #expect(attempts.map(\.outcome) == ["failed", "completed"])
        }
    }

    @Test func aRetryThatCannotBeSaysWhy() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let id = try await server.submit(session)
            try await Self.fail(server)
            let path = "/v1/tasks/\(id)/retry"
            #expect(try await server.send("POST", path, as: server.second).code == .unknownTask)
            _ = try await server.submit(session)
            try await server.send("POST", "\(session)/finish")
            #expect(try await server.send("POST", path).code == .sessionFinishing)
            try await server.send("DELETE", session)
            #expect(try await server.send("POST", path).code == .sessionEnded)
        }
    }

    @Test func anUploadIsRetriedUntilItsBytesAreGone() async throws {
        try await APIServer.run { server in
            let id = try await server.submit(
                server.session(),
                #"{"kind": "upload", "url": "http://o.example/", "upload": {"staged": true}}"#
            )
            let path = "/v1/tasks/\(id)"
            let put = try await server.send(
                "PUT",
                "\(path)/body",
                bytes: [1, 2, 3],
                fields: [("Content-Type", "application/octet-stream")]
            )
            #expect(put.status == 200)
            try await Self.fail(server)
            let retried = try await server.send("POST", "\(path)/retry").json(TaskDocument.self)
            #expect(retried.state == "queued")
            try await Self.fail(server)
            let body = ResultLocation.bodyPath(of: id)
            try FileManager.default.removeItem(
                atPath: "\(server.containers)/\(server.first.id)/\(body)"
            )
            let refused = try await server.send("POST", "\(path)/retry")
            #expect(refused.status == 409)
            #expect(refused.code == .bodyGone)
            #expect(refused.text.contains("submit it as a new task"))
        }
    }

    @Test func anEndedTaskIsDeletedWithItsResult() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let id = try await server.submit(
                session,
                #"{"url": "http://o.example/", "client_persisted_string": "mine"}"#
            )
            let path = "/v1/tasks/\(id)"
            let early = try await server.send("DELETE", path)
            #expect(early.status == 409)
            #expect(early.code == .taskNotEnded)
            try await server.complete([1, 2, 3])
            #expect(try await server.send("DELETE", path, as: server.second).status == 404)
            #expect(try await server.send("GET", "\(path)/content").status == 200)
            let file = try await server.file(of: id, tenant: server.first.id)
            #expect(FileManager.default.fileExists(atPath: file))
            #expect(try await server.send("DELETE", path).status == 204)
            #expect(!FileManager.default.fileExists(atPath: file))
            #expect(try await server.send("DELETE", path).code == .unknownTask)
            #expect(try await server.send("GET", path).code == .taskExpired)
            #expect(try await server.send("POST", "\(path)/retry").status == 404)
            let document = try await server.send("GET", session).json(SessionDocument.self)
            #expect(document.taskCounts["completed"] ?? 0 == 0)
            let events = try await server.send("GET", "\(session)/events").json(EventPage.self)
            #expect(events.items.map(\.type).last == "session.events_finished")
            #expect(events.items.first?.data.task?.clientPersistedString == "mine")
        }
    }

    /// What its tenant keeps does not grow with each upload that is brought and deleted.
    @Test func theBytesOfADeletedUploadDoNotCount() async throws {
        try await APIServer.run { server in
            let id = try await server.submit(
                server.session(),
                #"{"kind": "upload", "url": "http://o.example/", "upload": {"staged": true}}"#
            )
            let path = "/v1/tasks/\(id)"
            let put = try await server.send(
                "PUT",
                "\(path)/body",
                bytes: [1, 2, 3],
                fields: [("Content-Type", "application/octet-stream")]
            )
            #expect(put.status == 200)
            let tenants = server.stores.tenants
            #expect(try await tenants.storage(of: server.first.id).storedBytes == 3)
            try await server.send("POST", "\(path)/cancel")
            #expect(try await server.send("DELETE", path).status == 204)
            #expect(try await tenants.storage(of: server.first.id).storedBytes == 0)
        }
    }

    @Test func aTaskThatItsWorkerStillStopsIsDeletedAfterwards() async throws {
        try await APIServer.run { server in
            let id = try await server.submit(server.session())
            let claim = try await server.claim()
            let path = "/v1/tasks/\(id)"
            try await server.send("POST", "\(path)/cancel")
            let early = try await server.send("DELETE", path)
            #expect(early.status == 409)
            #expect(early.code == .taskInUse)
            #expect(early.fields["retry-after"] == "1")
            try await server.stores.workers.removeRevocations([claim.fence])
            #expect(try await server.send("DELETE", path).status == 204)
        }
    }

    @Test func theBytesOfAFailureAreDeletedWithTheTask() async throws {
        try await APIServer.run { server in
            let id = try await server.submit(server.session())
            let claim = try await server.claim()
            let file = ResultLocation.partPath(of: id, destination: nil, fence: claim.fence)
            let path = "\(server.containers)/\(server.first.id)/\(file)"
            try FileManager.default.createDirectory(
                atPath: URL(filePath: path).deletingLastPathComponent().path(),
                withIntermediateDirectories: true
            )
            try Data([1, 2, 3]).write(to: URL(filePath: path))
            let partial = PartialDownload(
                partFence: claim.fence,
                bootID: UUID(),
                bytesDurable: 3,
                bytesTotal: 10,
                validator: EntityValidator(stored: "\"1\"")
            )
            _ = try await server.stores.completions.end([
                AttemptEnd(
                    task: id,
                    fence: claim.fence,
                    outcome: .failed(Self.failure),
                    partial: partial
                )
            ])
            #expect(try await server.send("DELETE", "/v1/tasks/\(id)").status == 204)
            #expect(!FileManager.default.fileExists(atPath: path))
            #expect(try await server.stores.parts.keptParts([(id, claim.fence)]).isEmpty)
            #expect(try await server.stores.parts.abandonedParts().isEmpty)
        }
    }
}
