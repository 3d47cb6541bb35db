import Foundation
import Testing
import TransferEngine
import TransferModel
import TransferStore
import TransferTestSupport

/// Faults T9 to T11: malicious answers.
@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct EngineHostileOriginTests {
    /// 100,000 zeros as gzip (RFC 1952): 132 bytes.
    private static let bomb = OriginBody.bytes(gzip(zeros: 93))

    /// Returns gzip whose compressed part has so many zeros in its middle, each of which stands for
    /// 1,032 zeros of the decoded body.
    private static func gzip(zeros: Int) -> [UInt8] {
        let head = Data(base64Encoded: "H4sIAAAAAAAC/+3BMQEAAADCoPVPbQ0PoAAA") ?? Data()
        let tail = Data(base64Encoded: "AIBXA32VEdSghgEA") ?? Data()
        return Array(head + Data(count: zeros) + tail)
    }

    @Test func aCodedBodyIsStoredAsItCame() async throws {
        let fixture = try await EngineFixture()
        #expect(Self.bomb.count == 132)
        let task = try await fixture.download(
            .response(headers: [("Content-Encoding", "gzip")], body: Self.bomb)
        ) {
            // Requirements on the file apply to the bytes as they come.
            $0.options.expectedSize = Int64(Self.bomb.count)
        }
        #expect(task.state == .completed)
        #expect(task.bytesReceived == Int64(Self.bomb.count))
        #expect(task.result?.contentEncoding == "gzip")
        #expect(try fixture.content(task) == Self.bomb.bytes)
        #expect(fixture.origin.log.now.requests.first?["Accept-Encoding"] == "identity")
    }

    @Test func aCodedBodyIsDecodedForATaskThatWantsIt() async throws {
        let fixture = try await EngineFixture()
        let fields = [("Content-Encoding", "gzip"), ("ETag", "\"1\""), ("X-Own", "kept")]
        let task = try await fixture.download(.response(headers: fields, body: Self.bomb)) {
            $0.options.decompresses = true
            $0.options.expectedSize = 100_000
        }
        #expect(task.state == .completed)
        #expect(task.bytesReceived == 100_000)
        #expect(task.result?.contentEncoding == nil)
        // Nobody tells whether the coded stream has ended.
        #expect(task.result?.isLengthVerified == false)
        #expect(task.result?.fields["x-own"] == "kept")
        #expect(try fixture.content(task) == [UInt8](repeating: 0, count: 100_000))
        let asked = fixture.origin.log.now.requests.first?["Accept-Encoding"]
        #expect(asked == "gzip, deflate")
    }

    @Test func anUncodedBodyIsTakenAsItIsByATaskThatWouldDecode() async throws {
        let fixture = try await EngineFixture()
        let task = try await fixture.download(.response(body: .text("plain"))) {
            $0.options.decompresses = true
        }
        #expect(task.state == .completed)
        #expect(task.result?.isLengthVerified == true)
        #expect(try fixture.content(task) == Array("plain".utf8))
    }

    @Test func aBodyThatDecodesToFarTooMuchIsStopped() async throws {
        let fixture = try await EngineFixture()
        let body = OriginBody.bytes(Self.gzip(zeros: 100_000))
        let task = try await fixture.download(
            .response(headers: [("Content-Encoding", "gzip")], body: body)
        ) {
            $0.options.decompresses = true
        }
        #expect(task.failure?.code == .fileTooLarge)
        #expect(task.attempt == 1)
        #expect(fixture.files().isEmpty)
    }

    @Test func aBodyThatDecodesToMoreThanExpectedIsStopped() async throws {
        let fixture = try await EngineFixture()
        let body = OriginBody.bytes(Self.gzip(zeros: 100_000))
        let task = try await fixture.download(
            .response(headers: [("Content-Encoding", "gzip")], body: body)
        ) {
            $0.options.decompresses = true
            $0.options.expectedSize = 1000
        }
        #expect(task.failure?.code == .sizeMismatch)
        #expect(task.bytesReceived <= 1000)
        #expect(fixture.files().isEmpty)
    }

    @Test func aBodyThatCannotBeDecodedFails() async throws {
        let fixture = try await EngineFixture()
        let task = try await fixture.download(
            .response(headers: [("Content-Encoding", "gzip")], body: .text("not gzip"))
        ) {
            $0.options.decompresses = true
        }
        #expect(task.failure?.code == .badResponse)
        #expect(fixture.files().isEmpty)
    }

    /// The text "hello", which libcurl would decode.
    @Test(arguments: [
        ("gzip, gzip", "H4sIAAAAAAACA5Pv5mAAASbm0x5nT55kZ2hbJmDGChQAAKdvtEUZAAAA"),
        ("br", "CwKAaGVsbG8D"), ("zstd", "KLUv/SAFKQAAaGVsbG8="),
    ])
    func aBodyInCodingsThatWereNotOfferedFails(codings: String, body: String) async throws {
        let fixture = try await EngineFixture()
        let bytes = Array(try #require(Data(base64Encoded: body)))
        let task = try await fixture.download(
            .response(headers: [("Content-Encoding", codings)], body: .bytes(bytes))
        ) {
            $0.options.decompresses = true
        }
        #expect(task.failure?.code == .badResponse)
        #expect(task.bytesReceived == 0)
        #expect(fixture.files().isEmpty)
    }

    @Test func aBodyOfSeveralCodedStreamsFails() async throws {
        let fixture = try await EngineFixture()
        let task = try await fixture.download(
            .response(
                headers: [("Content-Encoding", "gzip")],
                body: .bytes(Self.bomb.bytes + Self.bomb.bytes)
            )
        ) {
            $0.options.decompresses = true
        }
        #expect(task.failure?.code == .badResponse)
        #expect(fixture.files().isEmpty)
    }

    @Test(arguments: [nil, 50_000] as [Int64?])
    func anEndlessBodyIsStoppedAtTheLimit(sizeMax: Int64?) async throws {
        let fixture = try await EngineFixture()
        let piece = [UInt8](repeating: 7, count: 10_000)
        let task = try await fixture.download(
            OriginScript([.head(200, [("Connection", "close")]), .forever(piece)]),
            retries: true
        ) {
            $0.options.sizeMax = sizeMax
        } configure: {
            $0.fileBytesMax = 200_000
        }
        #expect(task.failure?.code == .fileTooLarge)
        #expect(task.attempt == 1)
        #expect(task.bytesReceived <= sizeMax ?? 200_000)
        await fixture.origin.log.wait { $0.connectionsOpen == 0 }
        #expect(fixture.files().isEmpty)
    }

    /// A little is read, to keep the connection.
    @Test func theEndlessBodyOfAnErrorIsNotReadForLong() async throws {
        let fixture = try await EngineFixture()
        let piece = [UInt8](repeating: 7, count: 10_000)
        let task = try await fixture.download(
            OriginScript([.head(404, [("Connection", "close")]), .forever(piece)])
        )
        #expect(task.failure?.httpStatus == 404)
        let metrics = try #require(try await fixture.attempts(task.id).first?.metrics)
        #expect(metrics.responseBodyBytes < 1_000_000)
    }

    /// What is announced counts while the task runs, and with what all others announce.
    @Test func aLengthThatNoFileHasIsNotBelieved() async throws {
        let fixture = try await EngineFixture()
        let gate = OriginGate()
        fixture.origin.when(
            "/in",
            OriginScript([
                .head(200, [("Content-Length", "\(Int64.max)")]), .body(.text("hello")),
                .wait(gate), .close,
            ])
        )
        let id = try await fixture.submit(fixture.origin.url("/in")) {
            $0.request = TransferRequest(method: "PUT", upload: .data([1]))
        }
        try await fixture.withEngine { _ in
            try await fixture.received(5, of: id)
            #expect(try await fixture.task(id).bytesExpected == nil)
            let storage = try await fixture.stores.tenants.storage(of: fixture.tenant)
            #expect(storage.inFlightBytes == 6)
            gate.open()
            #expect(try await fixture.ended(id).state == .failed)
        }
    }

    @Test(
        arguments: [
            // Endless fields, an endless field, endless informational responses, endless trailers.
            [.raw(Array("HTTP/1.1 200 OK\r\n".utf8)), .forever(Array("X-A: b\r\n".utf8))],
            [.raw(Array("HTTP/1.1 200 OK\r\nX-A: ".utf8)), .forever(Array("bbbbbbbb".utf8))],
            [.forever(Array("HTTP/1.1 103 Early Hints\r\n\r\n".utf8))],
            [
                .head(200, [("Transfer-Encoding", "chunked")]), .raw(Array("1\r\nx\r\n0\r\n".utf8)),
                .forever(Array("X-A: b\r\n".utf8)),
            ],
        ] as [[OriginScript.Step]]
    )
    func aHeadWithoutEndIsStopped(steps: [OriginScript.Step]) async throws {
        let fixture = try await EngineFixture()
        let task = try await fixture.download(OriginScript(steps))
        #expect(task.failure?.code == .badResponse)
        await fixture.origin.log.wait { $0.connectionsOpen == 0 }
        #expect(fixture.files().isEmpty)
    }

    /// libcurl would decode it, requested or not.
    @Test(arguments: ["gzip", "gzip, chunked", "deflate"])
    func aTransferCodingThatNobodyAskedForIsRefused(coding: String) async throws {
        let fixture = try await EngineFixture()
        let task = try await fixture.download(
            OriginScript([
                .head(200, [("Transfer-Encoding", coding), ("Connection", "close")]),
                .body(Self.bomb), .close,
            ])
        )
        #expect(task.failure?.code == .badResponse)
        #expect(task.bytesReceived == 0)
        #expect(fixture.files().isEmpty)
    }
}
