import Foundation
import Testing
import TransferModel
import TransferStore
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

/// Tasks that their clients suspend, resume, cancel and change.
@Suite(.postgresSchema) struct TaskControlTests {
    @Test func suspendedTaskIsResumedAndCancelledByItsClient() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let id = try await server.submit(
                session,
                #"{"url": "http://origin.example/", "autostart": false}"#
            )
            let task = "/v1/tasks/\(id)"
            func state(_ method: String, _ path: String) async throws -> String {
                try await server.send(method, path).json(TaskDocument.self).state
            }
            #expect(try await state("GET", task) == "suspended")
            #expect(try await state("POST", "\(task)/resume") == "queued")
            #expect(try await state("POST", "\(task)/resume") == "queued")
            #expect(try await state("POST", "\(task)/cancel") == "cancelled")
            #expect(try await state("POST", "\(task)/cancel") == "cancelled")
            #expect(try await state("POST", "\(task)/resume") == "cancelled")
        }
    }

    @Test func runningTaskIsSuspendedAndItsAttemptsAreTold() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let id = try await server.submit(session)
            #expect(server.wakes.latest == [.work, .events])
            let claim = try await server.claim()
            let suspended = try await server.send("POST", "/v1/tasks/\(id)/suspend")
                .json(TaskDocument.self)
            #expect(suspended.state == "suspended")
            #expect(suspended.reason?.contains("resumed") == true)
            #expect(claim.task == id)
            let attempts = try await server.send("GET", "/v1/tasks/\(id)/attempts")
                .json(AttemptList.self).items
            #expect(attempts.map(\.outcome) == ["suspended"])
            #expect(attempts.map(\.number) == [1])
            #expect(server.wakes.value == 2)
            #expect(server.wakes.latest == .ofTasks)
            try await server.send("POST", "/v1/tasks/\(id)/resume")
            try await server.complete([1, 2, 3])
            let all = try await server.send("GET", "/v1/tasks/\(id)/attempts")
                .json(AttemptList.self).items
            #expect(all.map(\.outcome) == ["suspended", "completed"])
            #expect(all.last?.countOfBytesReceived == 3)
        }
    }

    @Test func aRunningRequestThatMustNotBeSentTwiceIsNotSuspended() async throws {
        try await APIServer.run { server in
            let id = try await server.submit(
                server.session(),
                #"{"url": "http://origin.example/", "method": "POST"}"#
            )
            _ = try await server.claim()
            let answer = try await server.send("POST", "/v1/tasks/\(id)/suspend")
            #expect(answer.status == 409)
            #expect(try answer.json(ProblemDetails.self).code == .requestInFlight)
            let task = try await server.send("GET", "/v1/tasks/\(id)").json(TaskDocument.self)
            #expect(task.state == "running")
            let cancelled = try await server.send("POST", "/v1/tasks/\(id)/cancel")
            #expect(try cancelled.json(TaskDocument.self).state == "cancelled")
        }
    }

    @Test func aRunningTaskTellsItsPace() async throws {
        try await APIServer.run { server in
            let id = try await server.submit(server.session())
            let claim = try await server.claim()
            func read() async throws -> TaskDocument {
                try await server.send("GET", "/v1/tasks/\(id)").json(TaskDocument.self)
            }
            let begun = try await read()
            #expect(begun.bytesPerSecond == 0)
            #expect(begun.estimatedTimeRemaining == nil)
            try await server.stores.parts.recordProgress([
                AttemptProgress(
                    task: id,
                    fence: claim.fence,
                    bytesReceived: 1_000_000_000,
                    bytesExpected: 2_000_000_000,
                    bytesPerSecond: 1_000_000
                )
            ])
            let running = try await read()
            #expect(running.bytesPerSecond == 1_000_000)
            #expect(running.estimatedTimeRemaining == 1000)
            try await server.send("POST", "/v1/tasks/\(id)/cancel")
            #expect(try await read().bytesPerSecond == nil)
        }
    }

    @Test func cancellingCanLeaveResumeDataForOneTask() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let id = try await server.submit(session)
            let claim = try await server.claim()
            let partial = PartialDownload(
                partFence: claim.fence,
                bootID: UUID(),
                bytesDurable: 5,
                bytesTotal: 10,
                validator: EntityValidator(stored: "\"1\"")
            )
            try await server.stores.parts.recordProgress([
                AttemptProgress(
                    task: id,
                    fence: claim.fence,
                    bytesReceived: 5,
                    bytesExpected: 10,
                    checkpoint: partial
                )
            ])
            let body = #"{"produce_resume_data": true}"#
            let cancelled = try await server.send("POST", "/v1/tasks/\(id)/cancel", body)
                .json(TaskDocument.self)
            #expect(cancelled.state == "cancelled")
            let token = try #require(cancelled.resumeData)
            // The token is returned once, and not by reading the task.
            for (method, path) in [("POST", "/v1/tasks/\(id)/cancel"), ("GET", "/v1/tasks/\(id)")] {
                let again = try await server.send(method, path, method == "POST" ? body : nil)
                #expect(try again.json(TaskDocument.self).resumeData == nil)
            }
            let task = #"{"url": "http://origin.example/a", "resume_data": "\#(token)"}"#
            let foreign = try await server.session("theirs", as: server.second)
            let stolen = try await server.send(
                "POST",
                "\(foreign)/tasks",
                task,
                as: server.second
            )
            #expect(stolen.status == 409)
            #expect(try await server.send("POST", "\(session)/tasks", task).status == 202)
            let used = try await server.send("POST", "\(session)/tasks", task)
            #expect(used.status == 409)
            #expect(used.text.contains("unknown_resume_data"))
            // Nor does it hide a wrong session.
            #expect(try await server.send("POST", "/v1/sessions/x/tasks", task).status == 404)
        }
    }

    @Test func patchChangesWhatItNamesAndNothingElse() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let id = try await server.submit(
                session,
                #"{"url": "http://origin.example/", "client_persisted_string": "a"}"#
            )
            let path = "/v1/tasks/\(id)"
            func patch(_ body: String) async throws -> HTTPClient.Answer {
                try await server.send("PATCH", path, body)
            }
            let moved = try await patch(#"{"earliest_begin_at": "2030-01-01T00:00:00Z"}"#)
                .json(TaskDocument.self)
            #expect(moved.state == "scheduled")
            #expect(moved.clientPersistedString == "a")
            let changed = try await patch(#"{"client_persisted_string": "b\u0000", "priority": 1}"#)
                .json(TaskDocument.self)
            #expect(changed.clientPersistedString == "b\u{0}")
            #expect(changed.priority == 1)
            #expect(changed.state == "scheduled")
            let cleared = try await patch(
                #"{"client_persisted_string": null, "earliest_begin_at": null}"#
            ).json(TaskDocument.self)
            #expect(cleared.clientPersistedString == nil)
            #expect(cleared.earliestBeginAt == nil)
            #expect(cleared.state == "queued")
            let merged = try await server.send(
                "PATCH",
                path,
                #"{"priority": null}"#,
                fields: [("Content-Type", "application/merge-patch+json")]
            )
            #expect(try merged.json(TaskDocument.self).priority == TaskPriority.default.value)
            #expect(try await patch("{}").status == 200)
            let limited = try await patch(#"{"bytes_per_second_max": 2000}"#)
            #expect(try limited.json(TaskDocument.self).bytesPerSecondMax == 2000)
            let freed = try await patch(#"{"bytes_per_second_max": null}"#)
            #expect(try freed.json(TaskDocument.self).bytesPerSecondMax == nil)
            #expect(
                try await patch(#"{"bytes_per_second_max": 1023}"#).faults
                    == ["/bytes_per_second_max invalid_value"]
            )
            let long = String(repeating: "x", count: 65_537)
            #expect(
                try await patch(#"{"client_persisted_string": "\#(long)", "priority": 2}"#).faults
                    == [
                        "/client_persisted_string client_string_too_long",
                        "/priority invalid_value",
                    ]
            )
            #expect(
                try await patch(#"{"url": "http://x.example/"}"#).faults == ["/url unknown_field"]
            )
            #expect(try await patch("").status == 400)
            try await server.send("POST", "\(path)/cancel")
            let late = try await patch(#"{"priority": 0}"#)
            #expect(late.status == 409)
            #expect(late.code == .taskEnded)
        }
    }

    @Test func resumeDataOfTheWrongFormIsNamed() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let answer = try await server.send(
                "POST",
                "\(session)/tasks",
                #"{"url": "http://origin.example/a", "resume_data": "x"}"#
            )
            #expect(answer.faults == ["/resume_data invalid_value"])
            let id = try await server.submit(session)
            let body = #"{"produce_resume_data": 1}"#
            let refused = try await server.send("POST", "/v1/tasks/\(id)/cancel", body)
            #expect(refused.faults == ["/produce_resume_data wrong_type"])
            let state = try await server.send("GET", "/v1/tasks/\(id)").json(TaskDocument.self)
                .state
            #expect(state == "queued")
        }
    }
}
