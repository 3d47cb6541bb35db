import Testing
import TransferModel
import TransferStore
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

/// What a queued task says of why it does not run.
@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct QueuedTaskTests {
    private func document(_ server: APIServer, _ task: TaskID) async throws -> TaskDocument {
        try await server.send("GET", "/v1/tasks/\(task)").json(TaskDocument.self)
    }

    @Test func aQueuedTaskNamesWhatItWaitsFor() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let first = try await server.submit(session, #"{"url": "http://a.example/1"}"#)
            #expect(try await document(server, first).waitsFor == "worker")
            _ = try await server.stores.workers.registerWorker(name: "alive", leasesShards: true)
            #expect(try await document(server, first).waitsFor == "slot")
            _ = try await server.send(
                "PATCH",
                session,
                #"{"configuration": {"is_discretionary": true}}"#
            )
            #expect(try await document(server, first).waitsFor == "discretionary")
            _ = try await server.claim()
            _ = try await server.send(
                "PATCH",
                session,
                #"{"configuration": {"max_connections_per_host": 1}}"#
            )
            let second = try await server.submit(session, #"{"url": "http://a.example/2"}"#)
            let waiting = try await document(server, second)
            #expect(waiting.waitsFor == "session")
            #expect(waiting.reason?.contains("its 1 connections") == true)
            let list = try await server.send("GET", "\(session)/tasks")
                .json(Page<TaskDocument>.self)
            #expect(list.items.allSatisfy { $0.waitsFor == nil })
        }
    }

    @Test(arguments: [
        (
            TransferFailure(.httpStatus, "Unavailable.", httpStatus: 503),
            "answers that it is out of service"
        ),
        (TransferFailure(.couldNotConnect, "Refused."), "cannot be reached"),
    ])
    func aTaskThatWaitsForItsHostSaysWhy(failure: TransferFailure, reason: String) async throws {
        try await APIServer.run { server in
            let task = try await server.submit(server.session())
            let claim = try await server.claim()
            _ = try await server.stores.completions.end([
                AttemptEnd(
                    task: claim.task,
                    fence: claim.fence,
                    outcome: .waitForConnectivity(failure, after: .seconds(600))
                )
            ])
            let waiting = try await document(server, task)
            #expect(waiting.reason?.contains("The host \(reason)") == true)
        }
    }

    /// Its number was given back.
    @Test func anAttemptThatDoesNotCountIsNotNumbered() async throws {
        try await APIServer.run { server in
            let task = try await server.submit(server.session())
            let claim = try await server.claim()
            let failure = TransferFailure(.storageFull, "The container has no space left.")
            _ = try await server.stores.completions.end([
                AttemptEnd(
                    task: claim.task,
                    fence: claim.fence,
                    outcome: .waitOut(failure, after: .seconds(600))
                )
            ])
            let reason = try await document(server, task).reason
            #expect(reason?.contains("does not count did not succeed (storage_full)") == true)
        }
    }
}
