import Testing
import TransferModel
import TransferStore
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

/// Why runs have ended, as the API tells it afterwards.
@Suite(.postgresSchema) struct RunReasonTests {
    @Test(arguments: [
        (true, "succeeded", "completed_by_client"), (false, "failed", "failed_by_client"),
    ])
    func itsClientCompletesIt(isSuccessful: Bool, state: String, reason: String) async throws {
        try await APIServer.run { server in
            try await server.register()
            let run = try await server.launch()
            #expect(run.reason == nil)
            let body = #"{"success": \#(isSuccessful)}"#
            let done = try await server.change(run.id, "complete", body).json(RunDocument.self)
            #expect(done.end == "\(state): \(reason)")
            try await server.expectEnd(of: run, state, reason)
        }
    }

    @Test(arguments: [
        (false, "succeeded", "transfers_completed"), (true, "failed", "transfers_failed"),
    ])
    func itsTransfersEnd(isOneCancelled: Bool, state: String, reason: String) async throws {
        try await APIServer.run { server in
            try await server.register()
            let session = try await server.session()
            let tasks = [try await server.submit(session), try await server.submit(session)]
            let run = try await server.launch("refresh", #""completes_with_transfers": true"#)
            let links = tasks.map { "\"\($0)\"" }.joined(separator: ", ")
            try await server.change(run.id, "transfers", #"{"task_ids": [\#(links)]}"#)
            if isOneCancelled {
                let answer = try await server.send("POST", "/v1/tasks/\(tasks[0])/cancel")
                #expect(answer.status == 200)
            }
            try await server.complete(Array("a".utf8))
            try await server.clock().pass(2)
            try await server.expectEnd(of: run, state, reason)
        }
    }

    @Test func itsDeadlinePasses() async throws {
        try await APIServer.run { server in
            try await server.register()
            let run = try await server.launch()
            try await server.change(run.id, "accept")
            try await server.clock().pass(31)
            try await server.expectEnd(of: run, "expired", "deadline_passed")
            try await server.expectLastEvent("background_task.expired", "deadline_passed")
        }
    }

    @Test(arguments: ["refresh", "clean"])
    func nobodyAcceptsIt(identifier: String) async throws {
        try await APIServer.run { server in
            try await server.register([("refresh", "app_refresh"), ("clean", "processing")])
            let run = try await server.launch(identifier)
            // A refresh is over at its deadline, which comes before the minute.
            try await server.clock().pass(identifier == "refresh" ? 31 : 61)
            try await server.expectEnd(of: run, "not_accepted", "not_accepted")
            try await server.expectLastEvent("background_task.expired", "not_accepted")
        }
    }

    @Test(arguments: [false, true])
    func itsClientIsForceQuit(isAccepted: Bool) async throws {
        try await APIServer.run { server in
            try await server.register()
            let run = try await server.launch()
            if isAccepted { try await server.change(run.id, "accept") }
            try await server.send("POST", "/v1/clients/default/force-quit")
            try await server.expectEnd(of: run, "client_force_quit", "client_force_quit")
        }
    }

    @Test(arguments: [
        ("POST", "/v1/clients/default/suspend"), ("POST", "/v1/clients/default/terminate"),
        ("DELETE", "/v1/background-tasks/requests/refresh"),
        ("DELETE", "/v1/background-tasks/handlers/refresh"),
    ])
    func nothingElseEndsIt(method: String, path: String) async throws {
        try await APIServer.run { server in
            try await server.register()
            let run = try await server.launch()
            try await server.change(run.id, "extend", #"{"seconds": 60}"#)
            try await server.request()
            #expect(try await server.send(method, path).status < 300)
            try await server.clock().pass(31)
            #expect(try await server.run(run.id).reason == nil)
            try await server.clock().pass(31)
            try await server.expectEnd(of: run, "expired", "deadline_passed")
        }
    }

    @Test func whatHasNotEndedHasNone() async throws {
        try await APIServer.run { server in
            try await server.register()
            let run = try await server.launch()
            try await server.change(run.id, "accept")
            try await server.clock().pass(until: 4.4, before: .deadline)
            #expect(try await server.run(run.id).reason == nil)
            try await server.expectLastEvent("background_task.expiring", nil)
        }
    }
}

extension RunDocument {
    /// How the run has ended; nil while it has not.
    fileprivate var end: String? { reason.map { "\(state): \($0)" } }
}

extension APIServer {
    /// Expects that a run has ended so, alone and in the history of its client, and that it says so
    /// to whoever changes it.
    fileprivate func expectEnd(
        of run: RunDocument,
        _ state: String,
        _ reason: String,
        at location: SourceLocation = #_sourceLocation
    ) async throws {
        let alone = try await self.run(run.id)
        #expect(alone.end == "\(state): \(reason)", sourceLocation: location)
        #expect(alone.endedAt != nil, sourceLocation: location)
        let listed = try await runs().first { $0.id == run.id }
        #expect(listed?.end == "\(state): \(reason)", sourceLocation: location)
        let late = try await change(run.id, "complete", #"{"success": true}"#)
        #expect(late.code == .runEnded, sourceLocation: location)
        let problem = try late.json(ProblemDetails.self)
        #expect(problem.detail?.hasSuffix(".") == true, sourceLocation: location)
    }

    /// Expects that the client has been told last of a run, and why it ended.
    fileprivate func expectLastEvent(
        _ type: String,
        _ reason: String?,
        at location: SourceLocation = #_sourceLocation
    ) async throws {
        let event = try #require(try await clientEvents().last, sourceLocation: location)
        #expect(event.type == type, sourceLocation: location)
        #expect(event.data.backgroundTask?.reason == reason, sourceLocation: location)
    }
}
