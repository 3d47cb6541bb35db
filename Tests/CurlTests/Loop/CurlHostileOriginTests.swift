import Curl
import Foundation
import Testing
import TransferTestSupport

@Suite(.timeLimit(.minutes(5)))
struct CurlHostileOriginTests {
    private static let body = OriginBody.random(seed: 3, size: 50_000)
    /// The text "hello" in gzip.
    private static let codedHello = "H4sIAAAAAAACA8tIzcnJBwCGphA2BQAAAA=="
    /// Zeros in gzip, each byte of which stands for 1,032: more than libcurl keeps of one large
    /// read.
    private static let codedBomb =
        (Data(base64Encoded: "H4sIAAAAAAAC/+3BMQEAAADCoPVPbQ0PoAAA") ?? Data())
        + Data(count: 400_000)

    @Test func bodyCutByEndIsTruncated() async throws {
        let exchange = try Exchange()
        let (record, code) = await exchange.run(.cut(Self.body, after: 20_000, .close))
        #expect(code == .truncated)
        #expect(record.body.count == 20_000)
    }

    @Test func bodyCutByResetIsLostConnection() async throws {
        let exchange = try Exchange()
        let (_, code) = await exchange.run(.cut(Self.body, after: 20_000, .reset))
        #expect(code == .connectionLost || code == .truncated)
    }

    @Test func chunksWithoutEndAreTruncated() async throws {
        let exchange = try Exchange()
        let (_, code) = await exchange.run(
            OriginScript([
                .head(200, [("Transfer-Encoding", "chunked")]),
                .chunks(Self.body, size: 1000, isEnded: false), .close,
            ])
        )
        #expect(code == .truncated || code == .connectionLost)
    }

    @Test func endedChunksAreVerified() async throws {
        let exchange = try Exchange()
        let (record, code) = await exchange.run(
            OriginScript([
                .head(200, [("Transfer-Encoding", "chunked")]), .chunks(Self.body, size: 1000),
            ])
        )
        #expect(code == nil)
        #expect(record.body == Self.body.bytes)
        #expect(try record.results.first?.get().isLengthVerified == true)
    }

    @Test func extensionsOfChunksAreBounded() async throws {
        let exchange = try Exchange()
        let chunk = Array("1;\(String(repeating: "e", count: 32 * 1024))\r\nx\r\n".utf8)
        let chunks = 4000
        let (record, code) = await exchange.run(
            OriginScript(
                [.head(200, [("Transfer-Encoding", "chunked")])]
                    + Array(repeating: .raw(chunk), count: chunks)
                    + [.raw(Array("0\r\n\r\n".utf8))]
            )
        )
        #expect(code == .badResponse)
        #expect(record.body.count < chunks)
    }

    @Test func chunksOfOneByteAreTakenHoweverMany() async throws {
        let exchange = try Exchange()
        let count = 200_000
        let chunks = Array(String(repeating: "1\r\nx\r\n", count: count).utf8)
        let (record, code) = await exchange.run(
            OriginScript([
                .head(200, [("Transfer-Encoding", "chunked")]), .raw(chunks),
                .raw(Array("0\r\n\r\n".utf8)),
            ])
        )
        #expect(code == nil)
        #expect(record.body.count == count)
    }

    @Test func bodyThatEndsWithConnectionIsNotVerified() async throws {
        let exchange = try Exchange()
        let (record, code) = await exchange.run(.closeDelimited(Self.body))
        #expect(code == nil)
        #expect(record.body == Self.body.bytes)
        #expect(try record.results.first?.get().isLengthVerified == false)
    }

    @Test func bytesBehindAnnouncedLengthAreNeverSeen() async throws {
        let exchange = try Exchange()
        exchange.origin.when("/next", .response(body: .text("true")))
        let (record, code) = await exchange.run(
            .raw("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbodyHTTP/1.1 200 OK\r\n\r\nlie")
        )
        #expect(code == nil)
        #expect(record.body == Array("body".utf8))
        let next = try await exchange.loop.fetch(exchange.request("/next"), bodyMax: 100)
        #expect(next.body == Array("true".utf8))
    }

    @Test(arguments: [
        "Content-Length: -5", "Content-Length: five", "Content-Length: +5", "Content-Length: 0x5",
        "Content-Length: 9223372036854775808", "Content-Length: 18446744073709551621",
        "Content-Length: 5\r\nContent-Length: 6", "Content-Length: 5, 6", "Content-Length:",
        "Content-Length: 5 5",
    ])
    func contradictoryLengthIsBadResponse(fields: String) async throws {
        let exchange = try Exchange()
        let (record, code) = await exchange.run(.raw("HTTP/1.1 200 OK\r\n\(fields)\r\n\r\nhello"))
        #expect(code == .badResponse)
        #expect(record.body.isEmpty)
        #expect(record.heads.isEmpty)
    }

    @Test func equalLengthsAreOne() async throws {
        let exchange = try Exchange()
        let (record, code) = await exchange.run(
            .raw("HTTP/1.1 200 OK\r\nContent-Length: 5\r\ncontent-length: 5\r\n\r\nhello")
        )
        #expect(code == nil)
        #expect(record.heads.first?.contentLength == 5)
    }

    @Test func largestLengthIsReadAndCut() async throws {
        let exchange = try Exchange()
        let (record, code) = await exchange.run(
            .raw("HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775807\r\n\r\nhello")
        )
        #expect(code == .truncated)
        #expect(record.heads.first?.contentLength == .max)
    }

    @Test func announcedBodyAboveBoundIsRefusedAtHead() async throws {
        let exchange = try Exchange()
        let (record, code) = await exchange.run(.response(body: Self.body)) {
            $0.bodyBytesMax = 49_999
        }
        #expect(code == .bodyTooLarge)
        #expect(record.body.isEmpty)
    }

    @Test func unannouncedBodyIsStoppedAtBound() async throws {
        let exchange = try Exchange()
        let (record, code) = await exchange.run(
            OriginScript([
                .head(200, [("Connection", "close")]), .forever(Self.body.bytes),
            ])
        ) { $0.bodyBytesMax = 100_000 }
        #expect(code == .bodyTooLarge)
        #expect(record.body.count <= 100_000)
    }

    @Test(arguments: [OriginScript.response(body: body), .closeDelimited(body)])
    func theBoundIsNotThatOfABodyThatIsDropped(script: OriginScript) async throws {
        let exchange = try Exchange()
        exchange.origin.when("/", script)
        var request = exchange.request("/")
        request.bodyBytesMax = 100
        let sink = RecordingSink(verdictAtHead: .discard)
        exchange.loop.start(request, sink: sink)
        #expect(await sink.result?.code == nil)
        #expect(sink.record.body == Self.body.bytes)
    }

    @Test func endlessHeadersAreStopped() async throws {
        let exchange = try Exchange()
        let (record, code) = await exchange.run(
            OriginScript([
                .raw(Array("HTTP/1.1 200 OK\r\n".utf8)), .forever(Array("X-Fill: a\r\n".utf8)),
            ])
        )
        #expect(code == .badResponse)
        #expect(record.heads.isEmpty)
    }

    @Test func hugeHeaderBytesAreStopped() async throws {
        let exchange = try Exchange()
        let line = "X-Fill: " + String(repeating: "a", count: 30_000) + "\r\n"
        let (_, code) = await exchange.run(
            .raw("HTTP/1.1 200 OK\r\n" + line + line + line + "Content-Length: 0\r\n\r\n")
        )
        #expect(code == .badResponse)
    }

    @Test func floodOfInformationalResponsesIsStopped() async throws {
        let exchange = try Exchange()
        let (record, code) = await exchange.run(
            OriginScript([.forever(Array("HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n".utf8))])
        )
        #expect(code == .badResponse)
        #expect(record.heads.isEmpty)
    }

    @Test func informationalResponsesAreSkipped() async throws {
        let exchange = try Exchange()
        let (record, code) = await exchange.run(
            .raw(
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: a\r\n\r\n"
                    + "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
            )
        )
        #expect(code == nil)
        #expect(record.heads.map(\.status) == [200])
        #expect(record.heads.first?.headers.map(\.name) == ["Content-Length"])
    }

    @Test func endlessTrailersAreStopped() async throws {
        let exchange = try Exchange()
        let (_, code) = await exchange.run(
            OriginScript([
                .head(200, [("Transfer-Encoding", "chunked")]),
                .raw(Array("1\r\na\r\n0\r\n".utf8)), .forever(Array("X-Fill: a\r\n".utf8)),
            ])
        )
        #expect(code == .badResponse)
    }

    @Test(arguments: [
        "hello, this is no head at all\r\n", "<html>old</html>", "HTTP/1.1 abc OK\r\n\r\n",
        "HTTP/1.1 20 OK\r\n\r\n", "HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno colon here\r\n\r\n", "HTTP/1.1 200 OK\r\nbad name: a\r\n\r\n",
        "SSH-2.0-OpenSSH_9.2\r\n",
    ])
    func garbageIsBadResponse(reply: String) async throws {
        let exchange = try Exchange()
        let (record, code) = await exchange.run(.raw(reply))
        #expect(code == .badResponse)
        #expect(record.body.isEmpty)
    }

    @Test func closingWithoutAnswerIsLostConnection() async throws {
        let exchange = try Exchange()
        let (_, code) = await exchange.run(OriginScript([.close]))
        #expect(code == .connectionLost)
    }

    @Test func redirectIsAnAnswerLikeAnyOther() async throws {
        let exchange = try Exchange()
        exchange.origin.when("/elsewhere", .response())
        let (record, code) = await exchange.run(.redirect(to: "/elsewhere"))
        #expect(code == nil)
        #expect(record.heads.first?.status == 302)
        #expect(record.heads.first?["location"] == "/elsewhere")
        #expect(exchange.origin.log.now.requests(at: "/elsewhere").isEmpty)
    }

    @Test func codedBodyStaysAsItIs() async throws {
        let exchange = try Exchange()
        let (record, code) = await exchange.run(
            .response(headers: [("Content-Encoding", "gzip")], body: .text("not gzip"))
        )
        #expect(code == nil)
        #expect(record.body == Array("not gzip".utf8))
        #expect(exchange.origin.log.now.requests.first?["Accept-Encoding"] == nil)
    }

    /// The length that an origin announces is that of the coded body, also where it is decoded.
    @Test func aCodedBodyThatEndsEarlyIsNotWhole() async throws {
        let exchange = try Exchange()
        let coded = Array(Data(base64Encoded: Self.codedHello) ?? Data())
        let head = [("Content-Encoding", "gzip"), ("Content-Length", "\(coded.count)")]
        let whole = await exchange.run(OriginScript([.head(200, head), .raw(coded)])) {
            $0.decodesBody = true
        }
        #expect(whole.code == nil)
        #expect(whole.record.body == Array("hello".utf8))
        #expect(whole.record.heads.first?.contentLength == nil)
        let cut = await exchange.run(
            OriginScript([.head(200, head), .raw(Array(coded.dropLast())), .close])
        ) {
            $0.decodesBody = true
        }
        #expect(cut.code == .truncated || cut.code == .connectionLost)
    }

    @Test func aCodedBodyIsNotVerifiedByItsFrame() async throws {
        let exchange = try Exchange()
        let cut = Array((Data(base64Encoded: Self.codedHello) ?? Data()).dropLast(10))
        let (record, code) = await exchange.run(
            .response(headers: [("Content-Encoding", "gzip")], body: .bytes(cut))
        ) {
            $0.decodesBody = true
        }
        #expect(code == nil)
        #expect(try record.results.first?.get().isLengthVerified == false)
    }

    @Test func aCodedBodyOfSeveralStreamsIsABadResponse() async throws {
        let exchange = try Exchange()
        let one = Array(Data(base64Encoded: Self.codedHello) ?? Data())
        let (_, code) = await exchange.run(
            .response(headers: [("Content-Encoding", "gzip")], body: .bytes(one + one))
        ) {
            $0.decodesBody = true
        }
        #expect(code == .badResponse)
    }

    /// A piece that is refused within libcurl's decoder is kept there with all that follows of its
    /// read, decoded and uncounted.
    @Test func aPacedBodyIsNotKeptWithinTheDecoder() async throws {
        let exchange = try Exchange()
        let (record, code) = await exchange.run(
            .response(
                headers: [("Content-Encoding", "gzip")],
                body: .bytes(Array(Self.codedBomb))
            )
        ) {
            $0.decodesBody = true
            $0.sharedRates = [SharedRate(100_000_000)]
        }
        #expect(code == .bodyTooLarge)
        #expect(record.body.count <= 17 << 20)
    }

    /// It pauses several times, for one call of libcurl reads less than half a megabyte of it.
    @Test func aPacedBodyIsDecodedWhole() async throws {
        let exchange = try Exchange()
        let body = OriginBody.random(seed: 4, size: 2_000_000)
        let (record, code) = await exchange.run(
            .response(
                headers: [("Content-Encoding", "deflate")],
                body: .bytes(Self.deflated(body.bytes))
            )
        ) {
            $0.decodesBody = true
            $0.sharedRates = [SharedRate(4_000_000)]
        }
        #expect(code == nil)
        #expect(OriginBody.sha256(of: record.body) == body.sha256)
    }

    /// Returns bytes in blocks of deflate that are stored as they are (RFC 1951, section 3.2.4).
    private static func deflated(_ bytes: [UInt8]) -> [UInt8] {
        var coded: [UInt8] = []
        for first in stride(from: 0, to: bytes.count, by: 0xFFFF) {
            let block = bytes[first..<min(first + 0xFFFF, bytes.count)]
            let length = UInt16(block.count)
            coded.append(block.endIndex == bytes.count ? 1 : 0)
            for part in [length, ~length] { coded += [UInt8(part & 0xFF), UInt8(part >> 8)] }
            coded += block
        }
        return coded
    }

    @Test func progressOfAnUploadIsToldAsOftenAsTheOriginLikes() async throws {
        let exchange = try Exchange()
        let progress = "HTTP/1.1 104 Upload Resumption Supported\r\nUpload-Offset: 1\r\n\r\n"
        let (record, code) = await exchange.run(
            OriginScript([
                .raw(Array(String(repeating: progress, count: 500).utf8)),
                .head(200, [("Content-Length", "0")]),
            ])
        )
        #expect(code == nil)
        #expect(record.informational.count == 500)
        #expect(record.heads.map(\.status) == [200])
    }

    @Test func cookiesAreNotKept() async throws {
        let exchange = try Exchange()
        exchange.origin.when("/", .response(headers: [("Set-Cookie", "a=b; Path=/")]))
        for _ in 0..<2 {
            _ = try await exchange.loop.fetch(exchange.request("/"), bodyMax: 10)
        }
        #expect(exchange.origin.log.now.requests.map { $0["Cookie"] } == [nil, nil])
    }
}
