import Testing
import TransferModel
import TransferTestSupport

@testable import TransferEngine

/// Downloads over four connections whose origin refuses parts of the file.
@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct EngineRefusedPartTests {
    /// The number of bytes that the first connection brings before it waits: less than a quarter.
    private static let front = 100_000

    /// Configures a division into four, as soon as bytes flow, whatever its gain.
    private static func inFour(_ configuration: inout EngineConfiguration) {
        configuration.segments = Segments.Settings(
            bytesMin: Int64(front),
            sampleInterval: .seconds(3600),
            connectionsFirst: 4
        )
    }

    /// Downloads the file, whose first connection waits after its front.
    ///
    /// - Parameters:
    ///   - fixture: the engine and its origin.
    ///   - order: the places in the file of the parts that are answered one after another, each
    ///     once the connection of the one before it has ended.
    ///   - served: the number of bytes that the first part in the file brings before them.
    ///   - part: the answer to the request for a part, which may wait for what the first
    ///     connection waits for.
    /// - Returns: the task after its end.
    /// - Throws: the errors of the fixture.
    private static func run(
        _ fixture: EngineFixture,
        answering order: [Int],
        after served: Int = 0,
        part: @escaping @Sendable (OriginRequest, OriginGate) -> OriginScript
    ) async throws -> TransferTask {
        let rest = OriginGate()
        let gates = [OriginGate(), OriginGate(), OriginGate()]
        fixture.origin.when("/file") { request in
            guard request["Range"] != nil else {
                return .gated(
                    SegmentedFile.body,
                    after: Self.front,
                    rest,
                    headers: SegmentedFile.fields
                )
            }
            var script = part(request, rest)
            let number = request.numberAtPath - 2
            if gates.indices.contains(number) {
                script.steps.insert(.wait(gates[number]), at: 0)
            }
            return script
        }
        let id = try await fixture.submit(fixture.origin.url("/file")) {
            $0.options.segmentsMax = 4
        }
        return try await fixture.withEngine(inFour) { _ in
            await fixture.origin.log.arrived(4, at: "/file")
            let parts = try fixture.origin.log.now.requests(at: "/file").dropFirst().sorted {
                try SegmentedFile.range($0).lowerBound < SegmentedFile.range($1).lowerBound
            }
            if served > 0 {
                gates[parts[0].numberAtPath - 2].open()
                try await fixture.received(Self.front + served, of: id)
            }
            for (count, place) in order.enumerated() {
                gates[parts[place].numberAtPath - 2].open()
                await fixture.origin.log.wait { $0.connectionsOpen == 3 - count }
            }
            rest.open()
            return try await fixture.ended(id)
        }
    }

    @Test(
        arguments: [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]],
        [
            OriginScript.response(headers: SegmentedFile.fields, body: SegmentedFile.body),
            .response(412), .response(416), .response(403),
        ]
    )
    func whatAllOthersAreRefusedTheFirstOneBrings(
        order: [Int],
        answer: OriginScript
    ) async throws {
        let fixture = try await EngineFixture()
        let task = try await Self.run(fixture, answering: order) { _, _ in answer }
        #expect(task.state == .completed)
        #expect(task.attempt == 1)
        #expect(try fixture.content(task) == SegmentedFile.body.bytes)
        #expect(fixture.origin.log.now.requests(at: "/file").count == 4)
        try await fixture.expectNoParts()
    }

    /// As of several servers behind one name, of which some have another tag for the same bytes.
    @Test(arguments: [[1, 2], [2, 1]])
    func whatIsRefusedBehindAPartThatComesTheFirstOneBringsToo(order: [Int]) async throws {
        let fixture = try await EngineFixture()
        let served = 50_000
        let task = try await Self.run(fixture, answering: order, after: served) { request, rest in
            // Only the first of the three parts ends within the file's first half.
            guard let range = try? SegmentedFile.range(request),
                range.upperBound < SegmentedFile.size
            else { return .response(412) }
            return .file(
                SegmentedFile.body,
                etag: SegmentedFile.etag,
                for: request,
                pause: (served, rest)
            )
        }
        #expect(task.state == .completed)
        #expect(task.attempt == 1)
        #expect(try fixture.content(task) == SegmentedFile.body.bytes)
        #expect(task.bytesReceived == Int64(SegmentedFile.size))
        #expect(fixture.origin.log.now.requests(at: "/file").count == 4)
        try await fixture.expectNoParts()
    }

    /// The tag would go back in another coding, and the origin would not know it.
    @Test func aFileWithATagBeyondASCIIIsNotDivided() async throws {
        let fixture = try await EngineFixture()
        let head =
            "HTTP/1.1 200 OK\r\nETag: \"\u{E9}\"\r\nAccept-Ranges: bytes\r\n"
            + "Content-Length: \(SegmentedFile.size)\r\n\r\n"
        fixture.origin.when(
            "/file",
            OriginScript([
                .raw(head.unicodeScalars.map { UInt8($0.value) }), .body(SegmentedFile.body),
            ])
        )
        let task = try await SegmentedFile.run(fixture)
        #expect(try fixture.content(task) == SegmentedFile.body.bytes)
        #expect(fixture.origin.log.now.requests(at: "/file").count == 1)
    }
}
