import FaultProxy
import Foundation
import Glibc
import Synchronization
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

@testable import TransferEngine

/// Downloads over several connections.
@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct EngineSegmentTests {
    /// Returns the whole file, which waits for `gate` after its front.
    private static func whole(until gate: OriginGate) -> OriginScript {
        .gated(SegmentedFile.body, after: SegmentedFile.front, gate, headers: SegmentedFile.fields)
    }

    /// Downloads a file whose first connection waits, after its front, until the second one has
    /// ended.
    ///
    /// `part` answers the second one, and gets the number of each request for a part.
    private static func run(
        _ fixture: EngineFixture,
        bringing count: Int = 0,
        part: @escaping @Sendable (OriginRequest, Int) -> OriginScript
    ) async throws -> TransferTask {
        let gate = OriginGate()
        let parts = Mutex(0)
        fixture.origin.when("/file") { request in
            guard request["Range"] != nil else {
                return request.numberAtPath == 1
                    ? whole(until: gate)
                    : .response(headers: [("ETag", #""v2""#)], body: SegmentedFile.other)
            }
            let number = parts.withLock { count in
                count += 1
                return count
            }
            return part(request, number)
        }
        let id = try await fixture.submit(fixture.origin.url("/file"))
        return try await fixture.withEngine(SegmentedFile.once) { _ in
            await fixture.origin.log.arrived(2, at: "/file")
            await fixture.origin.log.wait { $0.connectionsOpen == 1 }
            try await fixture.received(SegmentedFile.front + count, of: id)
            gate.open()
            return try await fixture.ended(id)
        }
    }

    private static func attempts(
        _ fixture: EngineFixture,
        _ task: TransferTask
    ) async throws -> [AttemptRecord] {
        try #require(try await fixture.stores.tasks.attempts(tenant: fixture.tenant, task: task.id))
    }

    @Test func aLineThatIsSlowForEachConnectionIsUsedByMany() async throws {
        let fixture = try await EngineFixture()
        fixture.origin.when("/file") {
            .file(SegmentedFile.body, etag: SegmentedFile.etag, for: $0)
        }
        let proxy = try FaultProxy(
            to: fixture.origin.port,
            .slow(delay: .milliseconds(5), rate: 500_000)
        )
        defer { proxy.stop() }
        let url = "http://127.0.0.1:\(proxy.port)/file"
        let task = try await SegmentedFile.run(fixture, url, SegmentedFile.often)
        #expect(task.state == .completed)
        #expect(task.bytesReceived == Int64(SegmentedFile.size))
        #expect(task.result?.isLengthVerified == true)
        #expect(task.result?.etag == SegmentedFile.etag)
        #expect(try OriginBody.sha256(of: fixture.content(task)) == SegmentedFile.body.sha256)
        let requests = fixture.origin.log.now.requests(at: "/file")
        #expect(requests[0]["Range"] == nil)
        #expect(requests.count > 2)
        for request in requests.dropFirst() {
            #expect(request["If-Match"] == SegmentedFile.etag)
            #expect(try SegmentedFile.range(request).upperBound <= SegmentedFile.size)
        }
        let attempt = try #require(try await Self.attempts(fixture, task).first)
        #expect(attempt.bytesReceived == Int64(SegmentedFile.size))
        let connections = try #require(attempt.metrics?.connections)
        #expect((2...EngineConfiguration.connectionsPerHostDefault).contains(connections))
        try await fixture.expectNoParts()
    }

    /// Serves `/file` over a slow line, each request as `pause` says.
    private static func slowLine(
        to fixture: EngineFixture,
        _ faults: Faults,
        pause: @escaping @Sendable (OriginRequest) -> (after: Int, gate: OriginGate)?
    ) throws -> FaultProxy {
        fixture.origin.when("/file") { request in
            .file(
                SegmentedFile.body,
                etag: SegmentedFile.etag,
                for: request,
                pause: pause(request)
            )
        }
        return try FaultProxy(to: fixture.origin.port, faults)
    }

    /// Not three, and more when those have paid off: the parts bring nothing before all are there.
    @Test func asManyAsTheClientHasSaidAreAskedForAtOnce() async throws {
        let fixture = try await EngineFixture()
        let gate = OriginGate()
        let proxy = try Self.slowLine(
            to: fixture,
            .slow(delay: .milliseconds(5), rate: 500_000)
        ) { $0["Range"].map { _ in (0, gate) } }
        defer { proxy.stop() }
        let url = "http://127.0.0.1:\(proxy.port)/file"
        let id = try await fixture.submit(url) { $0.options.segmentsMax = 6 }
        let task = try await fixture.withEngine(SegmentedFile.often) { _ in
            // One more comes when the first connection has brought its part: the seventh, or the
            // fifth had there been three more at first.
            try await eventually("all are asked for") {
                fixture.origin.log.now.requests(at: "/file").count >= 6
            }
            gate.open()
            return try await fixture.ended(id)
        }
        #expect(try OriginBody.sha256(of: fixture.content(task)) == SegmentedFile.body.sha256)
    }

    /// The first bytes are the only ones until more connections are there, which they ask for
    /// because the response took longer than a measurement.
    @Test func aSlowResponseDoesNotWaitForAMeasurement() async throws {
        let fixture = try await EngineFixture()
        let gate = OriginGate()
        let proxy = try Self.slowLine(
            to: fixture,
            .slow(delay: .milliseconds(300), rate: 10_000_000)
        ) { $0["Range"] == nil ? (1000, gate) : nil }
        defer { proxy.stop() }
        let id = try await fixture.submit("http://127.0.0.1:\(proxy.port)/file")
        let task = try await fixture.withEngine({ configuration in
            configuration.segments = Segments.Settings(
                bytesMin: 50_000,
                sampleInterval: .milliseconds(500)
            )
        }) { _ in
            try await eventually("more are asked for", within: .seconds(40)) {
                fixture.origin.log.now.requests(at: "/file").count >= 2
            }
            gate.open()
            return try await fixture.ended(id)
        }
        #expect(try OriginBody.sha256(of: fixture.content(task)) == SegmentedFile.body.sha256)
    }

    @Test func theFileHasTheModeOfAnyOther() async throws {
        let fixture = try await EngineFixture()
        let gate = SegmentedFile.hold(fixture.origin)
        let id = try await fixture.submit(fixture.origin.url("/file"))
        let task = try await fixture.withEngine(SegmentedFile.once) { _ in
            await fixture.origin.log.arrived(2, at: "/file")
            gate.open()
            return try await fixture.ended(id)
        }
        let path = try #require(
            ResultLocation.path(of: task.id, destination: nil, part: task.part)
        )
        let attributes = try FileManager.default.attributesOfItem(
            atPath: "\(fixture.container)/\(path)"
        )
        let mode = try #require(attributes[.posixPermissions] as? Int)
        #expect(mode & 0o7000 == 0)
    }

    @Test(arguments: [
        [("ETag", SegmentedFile.etag)], [("ETag", #"W/"v1""#), ("Accept-Ranges", "bytes")],
        [("Accept-Ranges", "bytes")], [("ETag", SegmentedFile.etag), ("Accept-Ranges", "none")],
    ])
    func withoutThePromiseOfTheOriginThereIsOneConnection(
        fields: [(name: String, value: String)]
    ) async throws {
        let fixture = try await EngineFixture()
        fixture.origin.when("/file", .response(headers: fields, body: SegmentedFile.body))
        let task = try await SegmentedFile.run(fixture)
        #expect(try fixture.content(task) == SegmentedFile.body.bytes)
        #expect(fixture.origin.log.now.requests(at: "/file").count == 1)
    }

    @Test func aTaskMayHaveOneConnectionOnly() async throws {
        let fixture = try await EngineFixture()
        fixture.origin.when(
            "/file",
            .response(headers: SegmentedFile.fields, body: SegmentedFile.body)
        )
        let task = try await SegmentedFile.run(fixture, change: { $0.options.segmentsMax = 1 })
        #expect(try fixture.content(task) == SegmentedFile.body.bytes)
        #expect(fixture.origin.log.now.requests(at: "/file").count == 1)
    }

    /// Each answer is refused while the first connection still has the whole file to bring.
    @Test(arguments: [
        OriginScript.response(headers: SegmentedFile.fields, body: SegmentedFile.body),
        .response(412), .response(416), .response(403), .response(503), .redirect(to: "/else"),
        .raw("no HTTP"),
        part("bytes 900001-1499999/1500000", 900_001..<1_500_000),
        part("bytes 0-599999/1500000", 0..<600_000),
        part("bytes 900000-1499999/*", 900_000..<1_500_000),
        OriginScript([
            .head(206, SegmentedFile.fields + [("Content-Length", "10")]), .raw([1, 2, 3]),
        ]),
    ])
    func aRefusedPartIsBroughtByTheFirstConnection(answer: OriginScript) async throws {
        let fixture = try await EngineFixture()
        let task = try await Self.run(fixture) { _, _ in answer }
        #expect(task.state == .completed)
        #expect(task.attempt == 1)
        #expect(try fixture.content(task) == SegmentedFile.body.bytes)
        #expect(fixture.origin.log.now.requests(at: "/file").count == 2)
        try await fixture.expectNoParts()
    }

    /// The first connection breaks, at once or after further bytes.
    @Test(arguments: [0, 100_000])
    func aRefusedPartIsNotWhyTheFirstConnectionBroke(brought: Int) async throws {
        let fixture = try await EngineFixture()
        let gate = OriginGate()
        let broken = OriginScript([
            .head(200, SegmentedFile.fields + [("Content-Length", "\(SegmentedFile.size)")]),
            .body(SegmentedFile.body, 0..<SegmentedFile.front), .wait(gate),
            .body(SegmentedFile.body, SegmentedFile.front..<SegmentedFile.front + brought), .close,
        ])
        fixture.origin.when("/file") { request in
            switch request.numberAtPath {
            case 1: broken
            case 2: .response(403)
            default: .file(SegmentedFile.body, etag: SegmentedFile.etag, for: request)
            }
        }
        let id = try await fixture.submit(fixture.origin.url("/file"))
        let task = try await fixture.withEngine(SegmentedFile.once) { _ in
            await fixture.origin.log.arrived(2, at: "/file")
            await fixture.origin.log.wait { $0.connectionsOpen == 1 }
            gate.open()
            return try await fixture.ended(id)
        }
        #expect(task.state == .completed)
        #expect(try await Self.attempts(fixture, task).first?.failure?.code == .lengthMismatch)
        #expect(try fixture.content(task) == SegmentedFile.body.bytes)
        let again = fixture.origin.log.now.requests(at: "/file").dropFirst(2).first
        #expect(again?["If-Range"] == SegmentedFile.etag)
        try await fixture.expectNoParts()
    }

    private static func part(
        _ contentRange: String,
        _ bytes: Range<Int>
    ) -> OriginScript {
        let length = [("Content-Range", contentRange), ("Content-Length", "\(bytes.count)")]
        return OriginScript([
            .head(206, SegmentedFile.fields + length), .body(SegmentedFile.body, bytes),
        ])
    }

    @Test(arguments: [
        [("ETag", #""v2""#)], [],
        [("ETag", SegmentedFile.etag), ("Content-Encoding", "gzip")],
    ])
    func aPartOfAnotherVersionOrCodingIsNotMixedIn(
        own: [(name: String, value: String)]
    ) async throws {
        let fixture = try await EngineFixture()
        let task = try await Self.run(fixture) { request, _ in
            guard let bytes = try? SegmentedFile.range(request) else { return .response(500) }
            let sent = "bytes \(bytes.lowerBound)-\(bytes.upperBound - 1)/\(SegmentedFile.size)"
            let fields: [(name: String, value: String)] = [
                ("Content-Range", sent), ("Content-Length", "\(bytes.count)"),
            ]
            return OriginScript([
                .head(206, own + fields),
                .body(SegmentedFile.other, bytes),
            ])
        }
        #expect(try fixture.content(task) == SegmentedFile.body.bytes)
        #expect(task.attempt == 1)
        try await fixture.expectNoParts()
    }

    @Test func aShiftedPartOfTheRightLengthIsNotMixedIn() async throws {
        let fixture = try await EngineFixture()
        let task = try await Self.run(fixture) { request, _ in
            guard let bytes = try? SegmentedFile.range(request) else { return .response(500) }
            return Self.part(
                "bytes \(bytes.lowerBound - 1)-\(bytes.upperBound - 2)/\(SegmentedFile.size)",
                bytes.lowerBound - 1..<bytes.upperBound - 1
            )
        }
        #expect(try fixture.content(task) == SegmentedFile.body.bytes)
        #expect(task.attempt == 1)
    }

    @Test func ofABrokenPartOnlyWhatIsMissingIsFetchedAgain() async throws {
        let fixture = try await EngineFixture()
        let brought = 100_000
        let task = try await Self.run(fixture, bringing: brought) { request, number in
            guard number == 1, let range = try? SegmentedFile.range(request) else {
                return .file(SegmentedFile.body, etag: SegmentedFile.etag, for: request)
            }
            return .file(
                SegmentedFile.body,
                etag: SegmentedFile.etag,
                for: request,
                cut: range.lowerBound + brought
            )
        }
        #expect(try fixture.content(task) == SegmentedFile.body.bytes)
        #expect(task.attempt == 1)
        let requests = fixture.origin.log.now.requests(at: "/file")
        try #require(requests.count == 3)
        let (lost, again) = (
            try SegmentedFile.range(requests[1]), try SegmentedFile.range(requests[2])
        )
        #expect(again == lost.lowerBound + brought..<lost.upperBound)
    }

    @Test func aChangedFileIsFetchedAnewAndNeverMixed() async throws {
        let fixture = try await EngineFixture()
        let brought = 100_000
        let task = try await Self.run(fixture, bringing: brought) { request, number in
            guard number == 1, let range = try? SegmentedFile.range(request) else {
                return .response(412)
            }
            return .file(
                SegmentedFile.body,
                etag: SegmentedFile.etag,
                for: request,
                cut: range.lowerBound + brought
            )
        }
        #expect(task.state == .completed)
        #expect(task.attempt == 2)
        #expect(try await Self.attempts(fixture, task)[0].failure?.code == .badResponse)
        #expect(try fixture.content(task) == SegmentedFile.other.bytes)
        #expect(task.result?.etag == #""v2""#)
        let requests = fixture.origin.log.now.requests(at: "/file")
        #expect(requests.last?["Range"] == nil)
        try await fixture.expectNoParts()
    }

    @Test func withoutAnyConnectionTheAttemptFailsAndTheNextOneFetchesTheRest() async throws {
        let fixture = try await EngineFixture()
        let brought = 100_000
        let task = try await Self.run(fixture, bringing: brought) { request, number in
            guard number < 3, let range = try? SegmentedFile.range(request) else {
                return .file(SegmentedFile.body, etag: SegmentedFile.etag, for: request)
            }
            return .file(
                SegmentedFile.body,
                etag: SegmentedFile.etag,
                for: request,
                cut: range.lowerBound + brought
            )
        }
        #expect(try fixture.content(task) == SegmentedFile.body.bytes)
        #expect(task.attempt == 2)
        let attempts = try await Self.attempts(fixture, task)
        #expect(attempts[0].failure?.code == .lengthMismatch)
        #expect(attempts.map(\.bytesReceived).reduce(0, +) == Int64(SegmentedFile.size))
        let requests = fixture.origin.log.now.requests(at: "/file")
        let (lost, again) = (
            try SegmentedFile.range(requests[2]), try SegmentedFile.range(requests[3])
        )
        #expect(again == lost.lowerBound + brought..<lost.upperBound)
        #expect(requests[3]["If-Range"] == SegmentedFile.etag)
        try await fixture.expectNoParts()
    }
}

extension OriginScript {
    /// Returns a part of a file that breaks off at the offset `cut` of the file.
    fileprivate static func file(
        _ body: OriginBody,
        etag: String,
        for request: OriginRequest,
        cut: Int
    ) -> OriginScript {
        var script = file(body, etag: etag, for: request)
        script.steps = script.steps.map { step in
            guard case .body(let body, let range?) = step else { return step }
            return .body(body, range.lowerBound..<cut)
        }
        script.steps.append(.close)
        return script
    }
}
