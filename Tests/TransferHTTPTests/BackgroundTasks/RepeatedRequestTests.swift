import Testing
import TransferModel
import TransferStore
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

/// Requests that are sent again because their response was lost.
@Suite(.postgresSchema) struct RepeatedRequestTests {
    private static let path = "\(APIServer.tasks)/requests"
    private static let key = [("Idempotency-Key", "k")]
    private static let refresh = #"{"identifier": "refresh"}"#

    @Test func isLaunchedOnce() async throws {
        try await APIServer.run { server in
            try await server.register()
            let first = try await server.send("POST", Self.path, Self.refresh, fields: Self.key)
            #expect(first.status == 201)
            try await server.stores.advanceTimers()
            let run = try #require(try await server.runs().first)
            try await server.change(run.id, "complete", #"{"success": true}"#)
            let again = try await server.send("POST", Self.path, Self.refresh, fields: Self.key)
            #expect(again.status == 201)
            #expect(again.body == first.body)
            #expect(again.fields["location"] == first.fields["location"])
            #expect(again.fields["idempotency-replayed"] == "true")
            #expect(try await server.pending().isEmpty)
            try await server.stores.advanceTimers()
            #expect(try await server.runs().map(\.id) == [run.id])
            let other = try await server.send(
                "POST",
                Self.path,
                #"{"identifier": "refresh", "min_interval_seconds": 9}"#,
                fields: Self.key
            )
            #expect(other.code == .idempotencyKeyReused)
        }
    }

    @Test func whatIsKeptIsWhatIsStored() async throws {
        try await APIServer.run { server in
            try await server.register()
            let run = try await server.launch()
            try await server.change(run.id, "complete", #"{"success": true}"#)
            for members in [
                #""recurrence": {"every_seconds": 900, "jitter_seconds": 60}"#,
                #""min_interval_seconds": 604800"#,
            ] {
                let answer = try await server.send(
                    "POST",
                    Self.path,
                    #"{"identifier": "refresh", \#(members)}"#,
                    fields: [("Idempotency-Key", members.contains("min") ? "a" : "b")]
                )
                #expect(answer.status == 201)
                let stored = try await server.send("GET", "\(Self.path)/refresh")
                #expect(stored.text == answer.text)
            }
        }
    }

    /// Also those that come before the first one is answered.
    @Test func whatMayNotWaitIsNotRefusedForItsOwnLaunch() async throws {
        try await APIServer.run { server in
            try await server.register([("export", "continued_processing")])
            let body = #"{"identifier": "export", "title": "Export", "strategy": "fail"}"#
            let answers = try await withThrowingTaskGroup(of: HTTPClient.Answer.self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        try await server.sendPatiently("POST", Self.path, body, fields: Self.key)
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            let made = answers.filter { $0.status == 201 }
            #expect(!made.isEmpty)
            #expect(answers.allSatisfy { $0.status == 201 || $0.code == .idempotencyKeyInUse })
            #expect(Set(made.map(\.text)).count == 1)
            let again = try await server.send("POST", Self.path, body, fields: Self.key)
            #expect(again.body == made.first?.body)
            #expect(try await server.runs().count == 1)
        }
    }

    /// A repetition that was judged before the first request was stored.
    @Test func aRefusalForTheFirstLaunchIsItsAnswer() async throws {
        try await APIServer.run { server in
            try await server.register([("export", "continued_processing")])
            let first = try await submit(Self.immediate, server)
            guard case .submitted = first else {
                Issue.record("\(first)")
                return
            }
            let second = try await submit(Self.immediate, server)
            guard case .replay(Self.record.response) = second else {
                Issue.record("\(second)")
                return
            }
            #expect(try await server.runs().count == 1)
        }
    }

    /// Such as by a launch meanwhile.
    @Test func anAnswerThatNoLongerFitsIsMadeAgain() async throws {
        try await APIServer.run { server in
            try await server.register()
            let request = BackgroundTaskRequest(
                identifier: BackgroundTaskIdentifier(stored: "refresh")
            )
            let draft = try #require(try await makeDraft(request, server))
            let run = try await server.launch()
            let late = try await submit(request, server, draft)
            guard case .outdated = late else {
                Issue.record("\(late)")
                return
            }
            #expect(try await server.pending().isEmpty)
            #expect(try await server.run(run.id).state == "launched")
            let current = try await submit(request, server)
            guard case .submitted(let pending) = current else {
                Issue.record("\(current)")
                return
            }
            #expect(try await server.pending().map(\.id) == [pending.id.description])
        }
    }

    /// A request that may not wait.
    private static let immediate: BackgroundTaskRequest = {
        let identifier = BackgroundTaskIdentifier(stored: "export")
        var request = BackgroundTaskRequest(identifier: identifier)
        request.title = "Export"
        request.strategy = .fail
        return request
    }()

    private static let record = IdempotencyRecord(
        key: Array("k".utf8),
        requestSHA256: Array(repeating: 1, count: 32),
        response: IdempotencyRecord.Response(status: 201, location: nil, body: Array("{}".utf8))
    )

    private func makeDraft(
        _ request: BackgroundTaskRequest,
        _ server: APIServer
    ) async throws -> RequestDraft? {
        try await server.stores.requests.draft(
            request,
            BackgroundTaskRequestID(.version7()),
            occurrence: nil,
            of: .default,
            tenant: server.first.id
        )
    }

    /// Submits a request with the key of ``record``, by a new draft if there is none.
    private func submit(
        _ request: BackgroundTaskRequest,
        _ server: APIServer,
        _ earlier: RequestDraft? = nil
    ) async throws -> SubmitRequestResult {
        let made = try await makeDraft(request, server)
        let draft = try #require(earlier ?? made)
        let id = draft.request.id
        var due: DueRequest?
        if request.strategy == .fail {
            due = try await server.stores.timers.immediateRequest(
                request,
                id,
                of: .default,
                tenant: server.first.id
            )
        }
        return try await server.stores.requests.submitRequest(
            request,
            id,
            occurrence: nil,
            of: .default,
            tenant: server.first.id,
            immediate: due.map { (request: $0, decision: LaunchDecision($0)) },
            answer: (draft: draft, record: Self.record)
        )
    }
}
