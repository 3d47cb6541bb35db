import Foundation
import Testing
import TransferModel
import TransferStore
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

/// Tasks that have ended and are retried.
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
}
