import PollLoop
import Foundation
import Logging
import Postgres
import Testing
import TransferContainer
import TransferModel
import TransferStore
import TransferTestSupport

@testable import TransferEngine

/// Two tasks, one path, files of equal size, and a kill at every step of each.
@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct EngineTakenDestinationTests {
    /// The last step that the killed worker has performed for a task.
    private enum Step: CaseIterable {
        case claimed
        /// The rename is pending.
        case begun
        /// The file has its name, or was refused it; the end is not stored.
        case renamed
    }

    private struct Rival {
        let claim: TaskClaim
        let body: OriginBody
        let isAllowedToReplace: Bool
        let end: Step
    }

    private static let size = 4096

    @Test func whatIsToldCompletedIsItsOwnFile() async throws {
        let fixture = try await EngineFixture()
        let dead = WorkerIdentity(
            incarnation: try await fixture.stores.workers.registerWorker(name: "dead")
        )
        var pairs: [(path: String, first: Rival, second: Rival)] = []
        for first in Step.allCases {
            for second in Step.allCases {
                for leave in [(false, false), (false, true), (true, false), (true, true)] {
                    let path = "pair/\(pairs.count)"
                    pairs.append(
                        (
                            path,
                            try await rival(at: path, leave.0, first, by: dead, fixture),
                            try await rival(at: path, leave.1, second, by: dead, fixture)
                        )
                    )
                }
            }
        }
        for pair in pairs {
            try await die(with: pair.first, dead, fixture)
            try await die(with: pair.second, dead, fixture)
        }
        try await fixture.withEngine {
            $0.heartbeatInterval = .milliseconds(50)
        } prepare: {
            try await fixture.loseWorkers(except: $0)
        } _: { [pairs] _ in
            for pair in pairs {
                _ = try await fixture.ended(pair.first.claim.task)
                _ = try await fixture.ended(pair.second.claim.task)
            }
        }
        for pair in pairs { try await check(pair.path, [pair.first, pair.second], fixture) }
        try await fixture.expectNoParts()
    }

    private func rival(
        at path: String,
        _ isAllowedToReplace: Bool,
        _ end: Step,
        by dead: WorkerIdentity,
        _ fixture: EngineFixture
    ) async throws -> Rival {
        let url = "/\(UUID())"
        let body = OriginBody.random(seed: .random(in: 0...1_000_000), size: Self.size)
        fixture.origin.when(url, .response(body: body))
        _ = try await fixture.submit(fixture.origin.url(url)) {
            $0.destination = Destination(path: path, overwrite: isAllowedToReplace)
        }
        let claim = try #require(try await fixture.stores.queue.claimAny(1, by: dead).first)
        return Rival(claim: claim, body: body, isAllowedToReplace: isAllowedToReplace, end: end)
    }

    /// Performs the work of the worker, up to the step at which it is killed.
    private func die(
        with rival: Rival,
        _ worker: WorkerIdentity,
        _ fixture: EngineFixture
    ) async throws {
        let claim = rival.claim
        let container = try Container(directory: fixture.directory)
        let pendingRename = try OrphanedRename.pendingRename(
            of: claim,
            rival.body,
            in: container
        )
        guard rival.end != .claimed else { return }
        let begun = try await fixture.stores.completions.end([], beginning: [pendingRename])
        #expect(begun == [claim.task])
        guard rival.end == .renamed else { return }
        // Its database is away, and so it is stopped before anybody learns of the end.
        let completer = AttemptCompleter(
            loop: try PollLoop(name: "completer"),
            stores: EngineStores(
                Database(
                    pool: ConnectionPool(
                        configuration: ConnectionConfiguration(url: "postgres://127.0.0.1:1/none"),
                        waitTimeout: .milliseconds(200),
                        loop: TestDatabase.current.loop
                    )
                )
            ),
            container: container,
            packs: Packs(container),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            onEnded: { _ in }
        )
        completer.submit(.pendingRename(pendingRename))
        let running = Task { await completer.run() }
        running.cancel()
        await running.value
    }

    private func check(_ path: String, _ rivals: [Rival], _ fixture: EngineFixture) async throws {
        let content = try fixture.content(path)
        var states: [TransferState] = []
        for rival in rivals {
            let task = try await fixture.task(rival.claim.task)
            states.append(task.state)
            if task.state == .failed {
                #expect(task.failure?.code == .destinationCollision)
                #expect(!rival.isAllowedToReplace)
            }
        }
        let way = rivals.map { "\($0.end), \($0.isAllowedToReplace)" }.joined(separator: "; ")
        let isOwn = rivals.map { $0.body.bytes == content }
        #expect(isOwn.count { $0 } == 1, "\(way)")
        for index in rivals.indices {
            let other = rivals[1 - index]
            if isOwn[index] {
                #expect(states[index] == .completed, "whose file it is has succeeded: \(way)")
            } else if !other.isAllowedToReplace {
                #expect(states[index] == .failed, "nobody has replaced its file: \(way)")
            }
        }
    }
}
