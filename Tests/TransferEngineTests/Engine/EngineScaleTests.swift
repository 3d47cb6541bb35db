import Foundation
import Testing
import TransferEngine
import TransferModel
import TransferStore
import TransferTestSupport

/// Fault T19: thousands of tasks, and clients or hosts that behave badly all the time.
@Suite(.postgresSchema, .timeLimit(.minutes(5))) struct EngineScaleTests {
    private static let count = 1500
    private static let clients = 8
    private static let body = OriginBody.random(seed: 71, size: 20_000)

    private func submit(
        _ count: Int,
        to port: UInt16,
        _ fixture: EngineFixture,
        _ change: (inout TaskSubmission, Int) -> Void = { _, _ in }
    ) async throws -> [TaskID] {
        var ids: [TaskID] = []
        for start in stride(from: 0, to: count, by: SubmissionStore.submissionMax) {
            let size = min(count - start, SubmissionStore.submissionMax)
            let submissions = (start..<start + size).map { index in
                var submission = TaskSubmission(
                    id: TaskID(.version7()),
                    url: "http://127.0.0.1:\(port)/file",
                    hostKey: HostKey(host: "127.0.0.1", port: Int(port))
                )
                change(&submission, index)
                return submission
            }
            let result = try await fixture.stores.submissions.submit(
                submissions,
                tenant: fixture.tenant,
                sessionIdentifier: EngineFixture.identifier
            )
            guard case .accepted = result else { throw CancellationError() }
            ids += submissions.map(\.id)
        }
        return ids
    }

    private func counts(_ fixture: EngineFixture) async throws -> SessionProgress {
        let session = try await fixture.stores.sessions.session(
            tenant: fixture.tenant,
            identifier: EngineFixture.identifier
        )
        return try #require(session).progress
    }

    /// Returns the tasks in each state, counted one by one.
    private func census(_ fixture: EngineFixture) async throws -> [TransferState: [TransferTask]] {
        var tasks: [TransferTask] = []
        while true {
            let page = try await fixture.stores.taskLists.tasks(
                tenant: fixture.tenant,
                sessionIdentifier: EngineFixture.identifier,
                filter: TaskFilter(),
                after: tasks.last?.id,
                limit: 500
            )
            tasks += page?.tasks ?? []
            if page?.next == nil { return Dictionary(grouping: tasks, by: \.state) }
        }
    }

    @Test func countersAreRightWhateverClientsDoToRunningTasks() async throws {
        let fixture = try await EngineFixture()
        fixture.origin.when("/file") { .file(Self.body, etag: #""1""#, for: $0) }
        // Half of them last a while, so that calls find them running.
        let ids = try await submit(Self.count, to: fixture.origin.port, fixture) {
            if $1.isMultiple(of: 2) { $0.options.bytesPerSecondMax = 100_000 }
        }
        try await fixture.withEngine {
            $0.connectionsPerHost = 64
            $0.heartbeatInterval = .milliseconds(200)
        } _: { engine in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for client in 0..<Self.clients {
                    group.addTask {
                        var random = SeededGenerator(state: UInt64(client) &+ 72)
                        for index in stride(from: client, to: ids.count, by: Self.clients) {
                            try await meddle(ids[index], fixture, &random) { engine.wake() }
                        }
                    }
                }
                try await group.waitForAll()
            }
            try await eventually("all have ended") {
                try await counts(fixture).outstanding == 0
            }
            try await eventually("no part file is left") {
                try await fixture.parts().isEmpty
            }
        }
        let census = try await census(fixture)
        let progress = try await counts(fixture)
        #expect(census.values.reduce(0) { $0 + $1.count } == Self.count)
        #expect(census[.completed]?.count ?? 0 == Int(progress.completed))
        #expect(census[.cancelled]?.count ?? 0 == Int(progress.cancelled))
        #expect(progress.failed == 0)
        #expect(progress.completed > 0 && progress.cancelled > 0)
        // One complete file for each completed task.
        let results = fixture.files()
        #expect(results.count == Int(progress.completed))
        for task in census[.completed] ?? [] {
            #expect(try fixture.content(task).count == Self.body.count)
        }
        try await expectEvents(fixture, ends: Self.count, last: progress.lastSequence)
    }

    /// Makes a few calls of a client, after which the task is cancelled or free to run.
    private func meddle(
        _ id: TaskID,
        _ fixture: EngineFixture,
        _ random: inout SeededGenerator,
        _ wake: () -> Void
    ) async throws {
        let tenant = fixture.tenant
        switch Int.random(in: 0..<4, using: &random) {
        case 0:
            _ = try await fixture.stores.control.cancelTask(tenant: tenant, id: id)
        case 1:
            _ = try await fixture.stores.control.suspendTask(tenant: tenant, id: id)
            wake()
            _ = try await fixture.stores.control.resumeTask(tenant: tenant, id: id)
        case 2:
            _ = try await fixture.stores.control.suspendTask(tenant: tenant, id: id)
            _ = try await fixture.stores.control.cancelTask(tenant: tenant, id: id)
        default: return
        }
        wake()
    }

    private func expectEvents(_ fixture: EngineFixture, ends: Int, last: Int64) async throws {
        var events: [SessionEvent] = []
        while Int64(events.count) < last {
            let page = try await fixture.stores.events.events(
                tenant: fixture.tenant,
                sessionIdentifier: EngineFixture.identifier,
                after: Int64(events.count),
                limit: 1000
            )
            guard let page, !page.isEmpty else { break }
            events += page
        }
        #expect(events.map(\.sequence) == Array(1...last))
        let ended = events.filter { $0.task?.state.isTerminal ?? false }
        #expect(ended.count == ends)
        #expect(Set(ended.compactMap(\.task?.id)).count == ends)
        #expect(events.last?.kind == .sessionEventsFinished)
        #expect(events.count { $0.kind == .sessionEventsFinished } == 1)
    }

    /// A host that is away, with far more tasks than there are slots, delays nobody.
    @Test func aDeadHostDelaysNoOther() async throws {
        let fixture = try await EngineFixture()
        fixture.origin.when("/file", .response(body: Self.body))
        let gone = try HeldPort()
        defer { withExtendedLifetime(gone) {} }
        let dead = try await submit(1000, to: gone.number, fixture) { submission, _ in
            submission.options.waitsForConnectivity = true
        }
        let living = try await submit(200, to: fixture.origin.port, fixture)
        try await fixture.withEngine {
            $0.concurrency = 32
            $0.connectionsPerHost = 6
        } _: { _ in
            try await eventually("the others have ended") {
                try await counts(fixture).completed == living.count
            }
        }
        let progress = try await counts(fixture)
        #expect(progress.failed == 0)
        #expect(progress.outstanding == dead.count)
    }
}
