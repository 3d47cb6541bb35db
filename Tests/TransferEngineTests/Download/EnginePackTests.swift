import Foundation
import Glibc
import Logging
import PollLoop
import Testing
import TransferContainer
import TransferModel
import TransferStore
import TransferTestSupport

@testable import TransferEngine

/// Small results lie in packs.
@Suite(.postgresSchema, .timeLimit(.minutes(3))) struct EnginePackTests {
    private static func body(_ index: Int) -> OriginBody {
        .random(seed: UInt64(index), size: 100 + index * 997)
    }

    private func submit(_ count: Int, _ fixture: EngineFixture) async throws -> [TaskID] {
        var ids: [TaskID] = []
        for index in 0..<count {
            fixture.origin.when("/\(index)", .response(body: Self.body(index)))
            ids.append(try await fixture.submit(fixture.origin.url("/\(index)")))
        }
        return ids
    }

    private func expectContents(_ ids: [TaskID], _ fixture: EngineFixture) async throws {
        for (index, id) in ids.enumerated() {
            #expect(try fixture.content(try await fixture.task(id)) == Self.body(index).bytes)
        }
    }

    private func packs(_ fixture: EngineFixture) -> [String] {
        let folder = "\(fixture.container)/\(ResultLocation.packFolder)"
        return (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    }

    @Test func smallResultsOfATenantShareAFile() async throws {
        let fixture = try await EngineFixture()
        let ids = try await submit(40, fixture)
        try await fixture.withEngine { _ in try await fixture.expectCompletion(ids) }
        try await expectContents(ids, fixture)
        #expect(packs(fixture).count == 1)
        #expect(fixture.files().count == 40)
        try await fixture.expectNoParts()
    }

    /// Together they are larger than what is gathered in memory at once.
    @Test func theMemoryOfOneIsThatOfTheNext() async throws {
        let fixture = try await EngineFixture()
        let body = OriginBody.random(seed: 1, size: Packs.resultBytesMax)
        fixture.origin.when("/file", .response(body: body))
        let count = Int(Packs.gatheredBytesMax) / body.count + 30
        var ids: [TaskID] = []
        for _ in 0..<count { ids.append(try await fixture.submit(fixture.origin.url("/file"))) }
        try await fixture.withEngine { [ids] _ in try await fixture.expectCompletion(ids) }
        #expect(!fixture.plainFiles().contains { $0.hasPrefix("\(ResultLocation.folder)/") })
        #expect(fixture.files().count == count)
    }

    @Test(arguments: ["/large", "/unknown", "/coded", "/named", "/empty"])
    func anyOtherHasAFileOfItsOwn(path: String) async throws {
        let fixture = try await EngineFixture()
        let large = OriginBody.random(seed: 1, size: Packs.resultBytesMax + 1)
        fixture.origin.when("/large", .response(body: large))
        fixture.origin.when("/unknown", .closeDelimited(Self.body(1)))
        fixture.origin.when(
            "/coded",
            .response(headers: [("Content-Encoding", "br")], body: Self.body(1))
        )
        fixture.origin.when("/named", .response(body: Self.body(1)))
        fixture.origin.when("/empty", .response())
        let id = try await fixture.submit(fixture.origin.url(path)) {
            guard path == "/named" else { return }
            $0.destination = Destination(path: "named", overwrite: false)
        }
        try await fixture.withEngine { _ in try await fixture.expectCompletion([id]) }
        #expect(packs(fixture).isEmpty)
        #expect(fixture.files().count == 1)
    }

    /// What was gathered is written to a file, from which the next attempt resumes.
    @Test func aSmallBodyThatBreaksOffIsResumed() async throws {
        let fixture = try await EngineFixture()
        let body = OriginBody.random(seed: 3, size: 60_000)
        let first = OriginScript([
            .head(200, [("Content-Length", "60000"), ("ETag", #""1""#)]),
            .body(body, 0..<50_000), .close,
        ])
        fixture.origin.when("/file") { request in
            request.numberAtPath == 1 ? first : .file(body, etag: #""1""#, for: request)
        }
        let id = try await fixture.submit(fixture.origin.url("/file"))
        try await fixture.withEngine { _ in try await fixture.expectCompletion([id]) }
        #expect(try fixture.content(try await fixture.task(id)) == body.bytes)
        let requests = fixture.origin.log.now.requests(at: "/file")
        #expect(requests.map { $0["Range"] } == [nil, "bytes=50000-"])
        try await fixture.expectNoParts()
    }

    /// A checksum that is wrong leaves nothing in the pack.
    @Test func aWrongResultDoesNotStay() async throws {
        let fixture = try await EngineFixture()
        let task = try await fixture.download(.response(body: Self.body(1))) {
            $0.options.checksums = [Checksum(.md5, bytes: Array(repeating: 0, count: 16))]
                .compactMap(\.self)
        }
        #expect(task.failure?.code == .checksumMismatch)
        #expect(fixture.files().isEmpty)
        #expect(packs(fixture).isEmpty, "the empty pack was closed")
    }

    /// The pack was taken away while its writer had it open.
    @Test func resultsInAPackThatSomebodyRemovedAreFetchedAgain() async throws {
        let fixture = try await EngineFixture()
        let ids = try await submit(20, fixture)
        try await fixture.withEngine { _ in
            try await fixture.expectCompletion(Array(ids[..<1]))
            for pack in packs(fixture) {
                try FileManager.default.removeItem(
                    atPath: "\(fixture.container)/\(ResultLocation.packFolder)/\(pack)"
                )
            }
            var later: [TaskID] = []
            for index in 0..<20 {
                later.append(try await fixture.submit(fixture.origin.url("/\(index)")))
            }
            try await fixture.expectCompletion(later)
            try await expectContents(later, fixture)
        }
    }

    /// Its worker was killed after it had written the result, and before anybody was told.
    @Test func aResultOfADeadWorkerIsFetchedAgainAndRemoved() async throws {
        let fixture = try await EngineFixture()
        let ids = try await submit(1, fixture)
        let dead = WorkerIdentity(
            incarnation: try await fixture.stores.workers.registerWorker(name: "dead")
        )
        let claim = try #require(try await fixture.stores.queue.claimAny(1, by: dead).first)
        let container = try Container(directory: fixture.directory)
        let deadPacks = Packs(container)
        let written = try add(Self.body(7).bytes, of: claim, to: deadPacks, in: container)
        #expect(written != nil)
        deadPacks.close()
        try await fixture.withEngine {
            $0.heartbeatInterval = .milliseconds(50)
        } prepare: {
            try await fixture.loseWorkers(except: $0)
        } _: { _ in
            try await fixture.expectCompletion(ids)
        }
        try await expectContents(ids, fixture)
        let task = try await fixture.task(ids[0])
        #expect(task.attempt == 2)
        #expect(task.part != claim.fence)
    }

    /// A worker that was only asleep: its fence is refused, and its result is in nobody's way.
    @Test func aResultWhoseFenceIsRefusedIsRemoved() async throws {
        let fixture = try await EngineFixture()
        _ = try await submit(2, fixture)
        let identity = WorkerIdentity(
            incarnation: try await fixture.stores.workers.registerWorker(name: "test")
        )
        let claims = try await fixture.stores.queue.claimAny(2, by: identity)
        try await complete(claims, fixture) {
            _ = try await fixture.stores.control.cancelTask(
                tenant: fixture.tenant,
                id: claims[0].task
            )
        }
        #expect(try await fixture.task(claims[0].task).state == .cancelled)
        let task = try await fixture.task(claims[1].task)
        #expect(task.state == .completed)
        #expect(try fixture.content(task) == Self.body(1).bytes)
        #expect(fixture.files().count == 1)
    }

    /// The folder of the packs is moved away, and the name of the new one with it.
    @Test func aResultInAPackWhoseNameIsNotDurableDoesNotCount() async throws {
        let fixture = try await EngineFixture()
        _ = try await submit(1, fixture)
        let identity = WorkerIdentity(
            incarnation: try await fixture.stores.workers.registerWorker(name: "test")
        )
        let claims = try await fixture.stores.queue.claimAny(1, by: identity)
        try await complete(claims, fixture) {
            let folder = "\(fixture.container)/\(ResultLocation.packFolder)"
            try FileManager.default.moveItem(atPath: folder, toPath: "\(folder)-moved")
        }
        let task = try await fixture.task(claims[0].task)
        #expect(task.state == .waitingForRetry)
        #expect(task.failure?.code == .storageFailure)
    }

    /// Adds a result of each claim to a pack, and has them completed after `change`.
    private func complete(
        _ claims: [TaskClaim],
        _ fixture: EngineFixture,
        after change: () async throws -> Void
    ) async throws {
        let container = try Container(directory: fixture.directory)
        let packs = Packs(container)
        let completer = AttemptCompleter(
            loop: try PollLoop(name: "completer"),
            stores: EngineStores(fixture.stores.database),
            container: container,
            packs: packs,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            onEnded: { _ in }
        )
        let bytes = Self.body(1).bytes
        var results: [PackedResult] = []
        for claim in claims {
            results.append(try #require(try add(bytes, of: claim, to: packs, in: container)))
        }
        try await change()
        for (claim, packed) in zip(claims, results) {
            let result = TransferResult(
                httpStatus: 200,
                bytesReceived: Int64(bytes.count),
                isLengthVerified: true
            )
            completer.submit(.part(.packed(packed), PendingRename(of: claim, result: result)))
        }
        let running = Task { await completer.run() }
        try await eventually("all have ended") { completer.backlog == 0 }
        running.cancel()
        await running.value
    }

    private func add(
        _ bytes: [UInt8],
        of claim: TaskClaim,
        to packs: Packs,
        in container: Container
    ) throws -> PackedResult? {
        let place = Container.Place(partOf: claim, fence: claim.fence)
        try container.prepareDirectory(of: place)
        return bytes.withUnsafeBytes {
            packs.add($0, of: claim.task, fence: claim.fence, tenant: claim.tenant, at: place)
        }
    }
}
