import Foundation
import Testing
import TransferEngine
import TransferModel
import TransferStore
import TransferTestSupport

/// Fault T18: clients that suspend, resume and cancel tasks in all their states while a worker runs
/// them.
///
/// The outcome must agree with the answers that a client got.
@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct EngineControlRaceTests {
    private static let etag = "\"1\""

    /// A promise made by the answers to one client's calls.
    private enum Promise: Sendable {
        case nothing
        /// A cancellation was answered with `cancelled`.
        case cancelled
        /// A call was answered with another end.
        case ended(TransferState)
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func whatAClientWasToldComesTrue(seed: UInt64) async throws {
        let fixture = try await EngineFixture()
        let bodies = (0..<24).map {
            OriginBody.random(seed: seed &* 100 &+ UInt64($0), size: 200_000 + $0 * 40_000)
        }
        for (index, body) in bodies.enumerated() {
            fixture.origin.when("/\(index)") { .file(body, etag: Self.etag, for: $0) }
        }
        var ids: [TaskID] = []
        for index in bodies.indices {
            ids.append(try await fixture.submit(fixture.origin.url("/\(index)")))
        }
        let promises = try await fixture.withEngine {
            $0.connectionsPerHost = 8
            $0.heartbeatInterval = .milliseconds(50)
        } _: { [ids] engine in
            let promises = try await withThrowingTaskGroup(of: (TaskID, Promise).self) { group in
                for (index, id) in ids.enumerated() {
                    group.addTask {
                        var random = SeededGenerator(state: seed &* 1000 &+ UInt64(index))
                        return (id, try await control(id, fixture, &random) { engine.wake() })
                    }
                }
                return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
            }
            try await eventually("all have ended") {
                try await fixture.unfinished() == 0
            }
            return promises
        }
        for (index, id) in ids.enumerated() {
            let task = try await fixture.task(id)
            switch promises[id] {
            case .cancelled: #expect(task.state == .cancelled)
            case .ended(let state): #expect(task.state == state)
            case .nothing, nil: #expect(task.state == .completed)
            }
            if task.state == .completed {
                #expect(try fixture.content(task) == bodies[index].bytes)
            }
        }
        let events = try await fixture.events()
        let ends = events.filter { $0.task?.state.isTerminal ?? false }
        #expect(ends.count == ids.count)
        #expect(Set(ends.compactMap(\.task?.id)).count == ids.count)
        #expect(events.count { $0.kind == .sessionEventsFinished } == 1)
        #expect(events.last?.kind == .sessionEventsFinished)
        // A part that nobody continues is at least known, if it is not gone yet.
        let known = Set(try await fixture.stores.parts.abandonedParts().map(\.fence))
        for (path, fence) in try await fixture.parts() {
            #expect(known.contains(fence), "\(path) is forgotten")
        }
    }

    /// Performs a random walk of one client with one task; it ends with the task resumed, cancelled
    /// or over.
    private func control(
        _ id: TaskID,
        _ fixture: EngineFixture,
        _ random: inout SeededGenerator,
        _ wake: () -> Void
    ) async throws -> Promise {
        let tenant = fixture.tenant
        for _ in 0..<Int.random(in: 2...12, using: &random) {
            let told: TransferTask?
            switch Int.random(in: 0..<10, using: &random) {
            case 0:
                told = try await fixture.stores.control.cancelTask(tenant: tenant, id: id)
                if told?.state == .cancelled { return .cancelled }
            case 1...4:
                told = try await fixture.stores.control.suspendTask(tenant: tenant, id: id).task
            case 5...8: told = try await fixture.stores.control.resumeTask(tenant: tenant, id: id)
            default: told = try await fixture.stores.tasks.task(tenant: tenant, id: id)
            }
            wake()
            if let state = told?.state, state.isTerminal { return .ended(state) }
        }
        _ = try await fixture.stores.control.resumeTask(tenant: tenant, id: id)
        wake()
        return .nothing
    }
}

extension EngineFixture {
    /// Returns the number of tasks of the session that have not ended.
    fileprivate func unfinished() async throws -> Int64 {
        let session = try await stores.sessions.session(tenant: tenant, identifier: Self.identifier)
        return try #require(session).progress.outstanding
    }
}
