import Foundation
import Testing
import TransferTestSupport

@testable import Curl

/// Codings of bodies (RFC 9110, section 8.4), as origins name them.
@Suite(.timeLimit(.minutes(1))) struct ContentCodingTests {
    /// The text "hello" in gzip.
    private static let coded = Array(
        Data(base64Encoded: "H4sIAAAAAAACA8tIzcnJBwCGphA2BQAAAA==") ?? Data()
    )
    private static let decoded = Array("hello".utf8)

    /// Returns a response whose head has a field for each of `values`.
    private static func response(_ values: [String], _ body: [UInt8] = coded) -> OriginScript {
        .response(headers: values.map { ("Content-Encoding", $0) }, body: .bytes(body))
    }

    @Test(arguments: [["gzip"], ["X-GZip"], ["", "gzip"], ["identity", " , gzip,\t"]])
    func aSingleCodingIsUndone(values: [String]) async throws {
        let exchange = try Exchange()
        let (record, code) = await exchange.run(Self.response(values)) { $0.decodesBody = true }
        #expect(code == nil)
        #expect(record.body == Self.decoded)
        #expect(record.heads.first?["Content-Encoding"] == nil)
        #expect(exchange.origin.log.now.requests.first?["Accept-Encoding"] == "gzip, deflate")
    }

    @Test func whatDescribesTheCodedBodySaysNothingOfTheDecodedOne() {
        let names = ["content-encoding", "Content-Length", "Content-Digest", "repr-digest", "ETag"]
        let head = ResponseHead(status: 200, headers: names.map { ($0, "gzip") })
        #expect(head.decoded.headers.map(\.name) == ["ETag"])
    }

    /// Nobody has seen its head, so that nothing of its body was decoded.
    @Test(arguments: [
        ["gzip, gzip"], ["gzip", "gzip"], ["gzip,identity, x-gzip"], ["gzip", "", "deflate"],
        ["zstd, zstd"], ["zstd"], ["BR"], ["identity", "br"], ["compress"], ["gzip zstd"],
    ])
    func whatWasNotOfferedEndsAtItsHead(values: [String]) async throws {
        let exchange = try Exchange()
        let (record, code) = await exchange.run(Self.response(values)) { $0.decodesBody = true }
        #expect(code == .badResponse)
        #expect(record.heads.isEmpty)
        #expect(record.body.isEmpty)
    }

    @Test(arguments: [[], [""], ["identity"], ["Identity", ","]] as [[String]])
    func aBodyWithoutACodingIsTakenAsItIs(values: [String]) async throws {
        let exchange = try Exchange()
        let (record, code) = await exchange.run(Self.response(values)) { $0.decodesBody = true }
        #expect(code == nil)
        #expect(record.body == Self.coded)
        #expect(record.heads.first?.contentLength == Int64(Self.coded.count))
        #expect(try record.results.first?.get().isLengthVerified == true)
    }

    /// It says nothing about the body of the final one, and libcurl takes it for nothing, too.
    @Test func aCodingOfAnInformationalResponseIsNone() async throws {
        let exchange = try Exchange()
        let early = "HTTP/1.1 103 Early\r\nContent-Encoding: zstd, zstd\r\n\r\n"
        let script = OriginScript([.raw(Array(early.utf8))] + Self.response([]).steps)
        let (record, code) = await exchange.run(script) { $0.decodesBody = true }
        #expect(code == nil)
        #expect(record.body == Self.coded)
    }

    /// What has no body has nothing to decode.
    @Test func aHeadWithoutABodyMayNameAnyCoding() async throws {
        let exchange = try Exchange()
        let (record, code) = await exchange.run(
            OriginScript([.head(200, [("Content-Encoding", "zstd")])])
        ) {
            $0.decodesBody = true
            $0.method = "HEAD"
        }
        #expect(code == nil)
        #expect(record.heads.map(\.status) == [200])
    }

    /// Whoever does not ask for a coded body gets each as it is.
    @Test func withoutDecodingEachCodingIsTaken() async throws {
        let exchange = try Exchange()
        let (record, code) = await exchange.run(Self.response(["zstd, br"]))
        #expect(code == nil)
        #expect(record.body == Self.coded)
        #expect(record.heads.first?["Content-Encoding"] == "zstd, br")
    }
}
