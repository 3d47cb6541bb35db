import Foundation
import Glibc
import Testing
import TransferContainer
import TransferModel
import TransferStore
import TransferTestSupport

@testable import TransferEngine

/// The remains of a part of workers that did not stop in an orderly way.
@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct EngineAbandonedPartTests {
    private static let body = OriginBody.random(seed: 31, size: 1_000_000)
    private static let kept = 700_000
    private static let etag = #""v1""#

    /// Acts as a worker that has received the front of a file, stored a checkpoint, and is gone.
    private func die(
        _ fixture: EngineFixture,
        bootID: UUID = Boot.id,
        bytesDurable: Int64 = 0,
        ranges: ByteRangeSet? = nil,
        bytes: [UInt8] = body.bytes(in: 0..<kept)
    ) async throws -> TaskClaim {
        fixture.origin.when("/file") { .file(Self.body, etag: Self.etag, for: $0) }
        _ = try await fixture.submit(fixture.origin.url("/file"))
        let dead = WorkerIdentity(
            incarnation: try await fixture.stores.workers.registerWorker(name: "dead")
        )
        let claim = try #require(
            try await fixture.stores.queue.claimAny(1, by: dead).first
        )
        try fixture.place(
            bytes,
            at: ResultLocation.partPath(of: claim.task, destination: nil, fence: claim.fence)
        )
        let partial = PartialDownload(
            partFence: claim.fence,
            ranges: ranges,
            bootID: bootID,
            bytesDurable: bytesDurable,
            bytesTotal: Int64(Self.body.count),
            validator: EntityValidator(stored: Self.etag)
        )
        try await fixture.stores.parts.recordProgress([
            AttemptProgress(
                task: claim.task,
                fence: claim.fence,
                bytesReceived: Int64(Self.kept),
                bytesExpected: Int64(Self.body.count),
                checkpoint: partial
            )
        ])
        return claim
    }

    private func finish(_ claim: TaskClaim, _ fixture: EngineFixture) async throws -> TransferTask {
        let task = try await fixture.withEngine {
            $0.heartbeatInterval = .milliseconds(50)
        } prepare: {
            try await fixture.loseWorkers(except: $0)
        } _: { _ in
            try await fixture.ended(claim.task)
        }
        #expect(task.state == .completed)
        #expect(try fixture.content(task) == Self.body.bytes)
        return task
    }

    private func range(_ fixture: EngineFixture) -> String? {
        fixture.origin.log.now.requests(at: "/file").first?["Range"]
    }

    @Test func partsThatCannotBeRemovedHoldUpNoOthers() async throws {
        let fixture = try await EngineFixture()
        let claim = try await die(fixture)
        let fences = (1...Int64(PartStore.abandonedPartsMax + 1)).map {
            Fence(incarnation: 1_000_000, counter: $0)
        }
        try await fixture.stores.parts.recordAbandoned(fences.map { (claim.task, $0) })
        let places = fences.map { Container.Place(partOf: claim, fence: $0) }
        for place in places.dropLast() {
            // A file cannot be removed that is a directory.
            try FileManager.default.createDirectory(
                atPath: "\(fixture.directory)/\(place.path)",
                withIntermediateDirectories: true
            )
        }
        let last = try #require(places.last)
        let path = "\(fixture.directory)/\(last.path)"
        try Data([1]).write(to: URL(filePath: path))
        try await fixture.withEngine {
            $0.heartbeatInterval = .milliseconds(50)
        } _: { _ in
            try await eventually("the last one is gone") {
                !FileManager.default.fileExists(atPath: path)
            }
        }
    }

    @Test func aKilledWorkerCostsNoByte() async throws {
        let fixture = try await EngineFixture()
        let claim = try await die(fixture)
        let task = try await finish(claim, fixture)
        #expect(task.attempt == 2)
        #expect(range(fixture) == "bytes=\(Self.kept)-")
        try await fixture.expectNoParts()
        let attempts = try await fixture.stores.tasks.attempts(
            tenant: fixture.tenant,
            task: task.id
        )
        #expect(attempts?.map(\.outcome) == [.lost, .completed])
    }

    /// The ranges of a file that may be divided were stored half a second before it was; its size
    /// counts as long as it is not.
    @Test(arguments: [(false, 700_000), (true, 600_000)])
    func aKillJustAfterADivisionCostsWhatWasNotStored(isDivided: Bool, first: Int) async throws {
        let fixture = try await EngineFixture()
        let claim = try await die(fixture, ranges: ByteRangeSet(0..<600_000))
        let path = ResultLocation.partPath(of: claim.task, destination: nil, fence: claim.fence)
        let mode = mode_t(0o640) | (isDivided ? mode_t(S_ISVTX) : 0)
        #expect(chmod("\(fixture.container)/\(path)", mode) == 0)
        _ = try await finish(claim, fixture)
        #expect(range(fixture) == "bytes=\(first)-")
        try await fixture.expectNoParts()
    }

    /// Once it is divided nobody believes its size, and its ranges are not stored yet.
    @Test func aPartKnownByItsSizeAloneIsNotDivided() async throws {
        let fixture = try await EngineFixture()
        let claim = try await die(fixture)
        let gate = OriginGate()
        fixture.origin.when("/file") {
            .file(Self.body, etag: Self.etag, for: $0, pause: (100_000, gate))
        }
        let task = try await fixture.withEngine {
            $0.heartbeatInterval = .milliseconds(50)
            $0.segments = Segments.Settings(
                bytesMin: 50_000,
                sampleInterval: .seconds(3600),
                connectionsFirst: 2
            )
        } prepare: {
            try await fixture.loseWorkers(except: $0)
        } _: { _ in
            try await fixture.received(Self.kept + 100_000, of: claim.task)
            gate.open()
            return try await fixture.ended(claim.task)
        }
        #expect(task.state == .completed)
        #expect(try fixture.content(task) == Self.body.bytes)
        #expect(fixture.origin.log.now.requests(at: "/file").count == 1)
    }

    @Test func afterAPowerCutOnlyDurableBytesCount() async throws {
        let fixture = try await EngineFixture()
        let claim = try await die(fixture, bootID: UUID(), bytesDurable: 300_000)
        _ = try await finish(claim, fixture)
        #expect(range(fixture) == "bytes=300000-")
        try await fixture.expectNoParts()
    }

    @Test func afterAPowerCutWithoutDurableBytesAllIsFetchedAnew() async throws {
        let fixture = try await EngineFixture()
        let claim = try await die(fixture, bootID: UUID())
        _ = try await finish(claim, fixture)
        #expect(range(fixture) == nil)
    }

    @Test func aPartThatIsGoneIsFetchedAnew() async throws {
        let fixture = try await EngineFixture()
        let claim = try await die(fixture)
        let path = ResultLocation.partPath(of: claim.task, destination: nil, fence: claim.fence)
        try FileManager.default.removeItem(atPath: "\(fixture.container)/\(path)")
        _ = try await finish(claim, fixture)
        #expect(range(fixture) == nil)
        try await fixture.expectNoParts()
    }

    @Test func aWholePartHasItsLastByteConfirmed() async throws {
        let fixture = try await EngineFixture()
        let claim = try await die(fixture, bytes: Self.body.bytes)
        _ = try await finish(claim, fixture)
        #expect(range(fixture) == "bytes=\(Self.body.count - 1)-")
        try await fixture.expectNoParts()
    }

    @Test func aPartThatIsTooLongIsNotTrusted() async throws {
        let fixture = try await EngineFixture()
        let claim = try await die(fixture, bytes: Self.body.bytes + [0])
        _ = try await finish(claim, fixture)
        #expect(range(fixture) == nil)
    }

    /// A worker that was declared dead but only sleeps still has the file open.
    @Test func aPartThatSomebodyStillWritesIsLeftAlone() async throws {
        let fixture = try await EngineFixture()
        let claim = try await die(fixture)
        let path = ResultLocation.partPath(of: claim.task, destination: nil, fence: claim.fence)
        let sleeper = open("\(fixture.container)/\(path)", O_WRONLY | O_CLOEXEC)
        #expect(sleeper >= 0)
        #expect(flock(sleeper, LOCK_EX | LOCK_NB) == 0)
        let task = try await finish(claim, fixture)
        #expect(range(fixture) == nil)
        // It wakes and writes its remaining bytes.
        let junk = [UInt8](repeating: 7, count: 4096)
        #expect(pwrite(sleeper, junk, junk.count, 0) == junk.count)
        close(sleeper)
        #expect(try fixture.content(task) == Self.body.bytes)
    }

    @Test func aPlantedPipeIsNoPart() async throws {
        let fixture = try await EngineFixture()
        let claim = try await die(fixture)
        let path = ResultLocation.partPath(of: claim.task, destination: nil, fence: claim.fence)
        try FileManager.default.removeItem(atPath: "\(fixture.container)/\(path)")
        #expect(mkfifo("\(fixture.container)/\(path)", 0o600) == 0)
        _ = try await finish(claim, fixture)
        #expect(range(fixture) == nil)
    }

    /// The task's row still names it: a worker that takes the task over meanwhile would lose its
    /// file when this attempt ends.
    @Test func aPartThatAnAttemptHasDroppedIsOpenToNoOther() async throws {
        let fixture = try await EngineFixture()
        let claim = try await die(fixture)
        let other = OriginBody.random(seed: 32, size: Self.body.count)
        let gate = OriginGate()
        fixture.origin.when(
            "/file",
            .gated(other, after: 100_000, gate, headers: [("ETag", #""v2""#)])
        )
        let partial = PartialDownload(
            partFence: claim.fence,
            bootID: Boot.id,
            bytesDurable: 0,
            bytesTotal: Int64(Self.body.count),
            validator: EntityValidator(stored: Self.etag)
        )
        let task = try await fixture.withEngine {
            $0.heartbeatInterval = .milliseconds(50)
        } prepare: {
            try await fixture.loseWorkers(except: $0)
        } _: { _ in
            try await fixture.received(100_000, of: claim.task)
            let container = try Container(directory: fixture.directory)
            let place = Container.Place(partOf: claim, fence: claim.fence)
            let size = try container.size(of: place)
            #expect(size == Int64(Self.kept))
            let opened = try PartFile(goingOnWith: partial, at: place, in: container)
            #expect(opened == nil)
            gate.open()
            return try await fixture.ended(claim.task)
        }
        #expect(task.state == .completed)
        #expect(try fixture.content(task) == other.bytes)
        try await fixture.expectNoParts()
    }
}
