import Foundation
import Glibc
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

@testable import TransferEngine

/// The parts kept of downloads over several connections, and the connections that others may
/// request from them.
@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct EngineSegmentResumeTests {
    private static func expectOnlyMissingBytes(
        _ fixture: EngineFixture,
        _ task: TransferTask
    ) async throws {
        #expect(task.state == .completed)
        #expect(try fixture.content(task) == SegmentedFile.body.bytes)
        let path = try #require(
            ResultLocation.path(of: task.id, destination: task.destination, part: task.part)
        )
        var status = stat()
        try #require(stat("\(fixture.container)/\(path)", &status) == 0)
        // The mark of its segments is gone.
        #expect(status.st_mode & mode_t(S_ISVTX) == 0)
        let requests = fixture.origin.log.now.requests(at: "/file")
        let second = try SegmentedFile.range(requests[1])
        let again = try requests.dropFirst(2).map { try SegmentedFile.range($0) }
        let missing = [
            SegmentedFile.front..<second.lowerBound,
            second.lowerBound + SegmentedFile.behind..<SegmentedFile.size,
        ]
        #expect(again.sorted(by: { $0.lowerBound < $1.lowerBound }) == missing)
        let events = try await fixture.events().filter { $0.kind == .taskResumedAtOffset }
        #expect(
            events.map { $0.task?.bytesReceived } == [
                Int64(SegmentedFile.front + SegmentedFile.behind)
            ]
        )
        try await fixture.expectNoParts()
    }

    /// From the division on nobody believes the size: a killed worker would lose all of the file.
    @Test func theRangesOfAFileThatMayBeDividedAreStored() async throws {
        let fixture = try await EngineFixture()
        let gate = OriginGate()
        fixture.origin.when(
            "/file",
            .gated(SegmentedFile.body, after: 700_000, gate, headers: SegmentedFile.fields)
        )
        let id = try await fixture.submit(fixture.origin.url("/file"))
        let task = try await fixture.withEngine { configuration in
            configuration.segments = Segments.Settings(
                bytesMin: 50_000,
                sampleInterval: .seconds(3600)
            )
        } _: { _ in
            let aside = try await TestDatabase.current.connection()
            try await eventually("the ranges are kept") {
                try await !aside.execute(
                    "SELECT 1 FROM partial WHERE ranges = '{[0,700000)}'"
                ).isEmpty
            }
            await aside.close()
            gate.open()
            return try await fixture.ended(id)
        }
        #expect(task.state == .completed)
        #expect(try fixture.content(task) == SegmentedFile.body.bytes)
        #expect(fixture.origin.log.now.requests(at: "/file").count == 1)
    }

    @Test func aSuspendedTaskGoesOnWithItsGaps() async throws {
        let fixture = try await EngineFixture()
        let gate = SegmentedFile.hold(fixture.origin)
        let id = try await fixture.submit(fixture.origin.url("/file"))
        let task = try await fixture.withEngine(SegmentedFile.once) { engine in
            try await fixture.received(SegmentedFile.front + SegmentedFile.behind, of: id)
            _ = try await fixture.stores.control.suspendTask(tenant: fixture.tenant, id: id)
            engine.wake()
            await fixture.origin.log.wait { $0.connectionsOpen == 0 }
            gate.open()
            _ = try await fixture.stores.control.resumeTask(tenant: fixture.tenant, id: id)
            engine.wake()
            return try await fixture.ended(id)
        }
        try await Self.expectOnlyMissingBytes(fixture, task)
    }

    /// The other worker continues whatever its own setting, here a cap of one connection.
    @Test func whatAStoppedWorkerLeavesAnyOtherGoesOnWith() async throws {
        let fixture = try await EngineFixture()
        let gate = SegmentedFile.hold(fixture.origin)
        let id = try await fixture.submit(fixture.origin.url("/file"))
        try await fixture.withEngine(SegmentedFile.once) { _ in
            try await fixture.received(SegmentedFile.front + SegmentedFile.behind, of: id)
        }
        gate.open()
        let task = try await fixture.withEngine { configuration in
            SegmentedFile.once(&configuration)
            configuration.connectionsPerHost = 1
        } _: { _ in
            try await fixture.ended(id)
        }
        try await Self.expectOnlyMissingBytes(fixture, task)
    }

    @Test func resumeDataHoldsTheGaps() async throws {
        let fixture = try await EngineFixture()
        let gate = SegmentedFile.hold(fixture.origin)
        let id = try await fixture.submit(fixture.origin.url("/file"))
        let resumeData = ResumeDataID(UUID())
        let task = try await fixture.withEngine(SegmentedFile.once) { engine in
            try await fixture.received(SegmentedFile.front + SegmentedFile.behind, of: id)
            _ = try await fixture.stores.control.cancelTask(
                tenant: fixture.tenant,
                id: id,
                producing: resumeData
            )
            engine.wake()
            await fixture.origin.log.wait { $0.connectionsOpen == 0 }
            gate.open()
            let next = try await fixture.submit(fixture.origin.url("/file")) {
                $0.resumeData = resumeData
            }
            engine.wake()
            return try await fixture.ended(next)
        }
        try await Self.expectOnlyMissingBytes(fixture, task)
    }

    /// URLs that a redirect leads to may expire; the task's own then leads to another one.
    @Test(arguments: [403, 404, 302])
    func aRefusalWhereARedirectLedIsNotTheTasks(status: Int) async throws {
        let fixture = try await EngineFixture()
        let gate = OriginGate()
        let brought = 100_000
        fixture.origin.when("/file") { .redirect(to: "/signed?\($0.numberAtPath)") }
        fixture.origin.when("/signed") { request in
            guard request.target == "/signed?1" else {
                return .file(SegmentedFile.body, etag: SegmentedFile.etag, for: request)
            }
            guard request["Range"] != nil, let range = try? SegmentedFile.range(request) else {
                return .gated(
                    SegmentedFile.body,
                    after: SegmentedFile.front,
                    gate,
                    headers: SegmentedFile.fields
                )
            }
            guard request.numberAtPath == 2 else { return .response(status) }
            let sent = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(SegmentedFile.size)"
            let fields = [("Content-Range", sent), ("Content-Length", "\(range.count)")]
            return OriginScript([
                .head(206, SegmentedFile.fields + fields),
                .body(SegmentedFile.body, range.lowerBound..<range.lowerBound + brought), .close,
            ])
        }
        let id = try await fixture.submit(fixture.origin.url("/file"))
        let task = try await fixture.withEngine(SegmentedFile.once) { _ in
            await fixture.origin.log.arrived(2, at: "/signed")
            await fixture.origin.log.wait { $0.connectionsOpen == 1 }
            try await fixture.received(SegmentedFile.front + brought, of: id)
            gate.open()
            return try await fixture.ended(id)
        }
        #expect(task.state == .completed)
        #expect(try fixture.content(task) == SegmentedFile.body.bytes)
        let attempts = try await fixture.attempts(id)
        #expect(attempts.map(\.failure?.code) == [.connectionLost, nil])
        #expect(attempts.last?.resumedAtOffset ?? 0 >= Int64(SegmentedFile.front + brought))
        #expect(fixture.origin.log.now.requests(at: "/file").count == 2)
        try await fixture.expectNoParts()
    }

    @Test func aCancelledTaskLeavesNoConnectionAndNoFile() async throws {
        let fixture = try await EngineFixture()
        SegmentedFile.hold(fixture.origin)
        let id = try await fixture.submit(fixture.origin.url("/file"))
        try await fixture.withEngine(SegmentedFile.once) { engine in
            await fixture.origin.log.arrived(2, at: "/file")
            _ = try await fixture.stores.control.cancelTask(tenant: fixture.tenant, id: id)
            engine.wake()
            await fixture.origin.log.wait { $0.connectionsOpen == 0 }
        }
        #expect(fixture.files().isEmpty)
    }

    @Test func aWaitingTaskGetsAConnectionOfAnotherDownload() async throws {
        let fixture = try await EngineFixture()
        let gate = SegmentedFile.hold(fixture.origin)
        fixture.origin.when("/small", .response(body: .text("small")))
        let large = try await fixture.submit(fixture.origin.url("/file"))
        try await fixture.withEngine { configuration in
            SegmentedFile.once(&configuration)
            configuration.connectionsPerHost = 2
        } _: { engine in
            await fixture.origin.log.arrived(2, at: "/file")
            let small = try await fixture.submit(fixture.origin.url("/small"))
            engine.wake()
            #expect(try await fixture.ended(small).state == .completed)
            #expect(try await fixture.task(large).state == .running)
            gate.open()
            let task = try await fixture.ended(large)
            #expect(try fixture.content(task) == SegmentedFile.body.bytes)
            #expect(task.attempt == 1)
        }
        try await fixture.expectNoParts()
    }

    /// It is not faster than allowed, however many connections there are.
    @Test func thePaceIsThatOfAllConnections() async throws {
        let fixture = try await EngineFixture()
        fixture.origin.when("/file") {
            .file(SegmentedFile.body, etag: SegmentedFile.etag, for: $0)
        }
        let start = ContinuousClock.now
        let task = try await SegmentedFile.run(
            fixture,
            nil,
            SegmentedFile.often,
            change: { $0.options.bytesPerSecondMax = 500_000 }
        )
        #expect(ContinuousClock.now - start >= .milliseconds(2700))
        #expect(try fixture.content(task) == SegmentedFile.body.bytes)
    }

    @Test(.enabled("mounting a small file system needs root") { geteuid() == 0 })
    func aFileThatDoesNotFitIsToldAtOnce() async throws {
        let folder = try TmpfsFolder("full", "size=1200k")
        let fixture = try await EngineFixture(in: folder.folder)
        SegmentedFile.hold(fixture.origin)
        let task = try await SegmentedFile.run(
            fixture,
            nil,
            SegmentedFile.once,
            change: { $0.options.timeoutForResource = .seconds(20) }
        )
        // The origin waits forever after a front that does fit.
        #expect(try await fixture.attempts(task.id).first?.failure?.code == .storageFull)
        #expect(task.state == .failed)
        #expect(fixture.files().isEmpty)
    }
}
