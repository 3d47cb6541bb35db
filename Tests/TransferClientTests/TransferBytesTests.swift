import Foundation
import Synchronization
import Testing
import TransferClient

@Suite(.timeLimit(.minutes(1))) struct TransferBytesTests {
    private static func head(
        _ length: Int,
        tag: String = #""1""#
    ) -> [(name: String, value: String)] {
        [("ETag", tag), ("Content-Length", "\(length)")]
    }

    private static func transport(_ responses: [TransportResponse]) -> ScriptedTransport {
        let rest = Mutex(responses)
        return ScriptedTransport { _ in
            rest.withLock { $0.isEmpty ? TransportResponse(500) : $0.removeFirst() }
        }
    }

    private func read(_ transport: ScriptedTransport) async throws -> String {
        var bytes: [UInt8] = []
        for try await part in transport.service().content(ofTask: "t") { bytes += part }
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test func continuesBehindTheLastByte() async throws {
        let cut = TransportFailure(.broken, "cut")
        let transport = Self.transport([
            TransportResponse(200, ["abc", "de"], headers: Self.head(9), failure: cut),
            // A proxy may end a response too early without saying so.
            TransportResponse(206, ["fg"], headers: Self.head(4)),
            TransportResponse(206, ["hi"], headers: Self.head(2)),
        ])
        #expect(try await read(transport) == "abcdefghi")
        let asked = transport.requests.map { [$0.header("Range"), $0.header("If-Range")] }
        #expect(asked == [[nil, nil], ["bytes=5-", #""1""#], ["bytes=7-", #""1""#]])
    }

    @Test func neverJoinsTwoContents() async throws {
        let cut = TransportFailure(.broken, "cut")
        let transport = Self.transport([
            TransportResponse(200, ["abc"], headers: Self.head(9), failure: cut),
            TransportResponse(200, ["other"], headers: Self.head(5, tag: #""2""#)),
        ])
        let error = await #expect(throws: TransferError.self) { try await read(transport) }
        #expect(error?.code == .unexpectedResponse)
    }

    @Test func asksForNothingBehindTheLastByte() async throws {
        let transport = Self.transport([
            TransportResponse(
                200,
                ["abc"],
                headers: Self.head(3),
                failure: TransportFailure(.broken, "cut")
            )
        ])
        #expect(try await read(transport) == "abc")
        #expect(transport.requests.count == 1)
    }
}
