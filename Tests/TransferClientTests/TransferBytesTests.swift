import Foundation
import Glibc
import Synchronization
import Testing
import TransferTestSupport

@testable import TransferClient

@Suite(.timeLimit(.minutes(1))) struct TransferBytesTests {
    private static func head(
        _ length: Int,
        tag: String = #""t-1""#,
        range: String? = nil
    ) -> [(name: String, value: String)] {
        let fields = [(name: "ETag", value: tag), (name: "Content-Length", value: "\(length)")]
        return fields + (range.map { [(name: "Content-Range", value: $0)] } ?? [])
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

    /// Also behind a proxy that makes tags weak ones, which no range may be asked for with.
    @Test(arguments: [#""t-1""#, #"W/"t-1""#]) func continuesBehindTheLastByte(
        tag: String
    ) async throws {
        let cut = TransportFailure(.broken, "cut")
        let transport = Self.transport([
            TransportResponse(200, ["abc", "de"], headers: Self.head(9, tag: tag), failure: cut),
            // A proxy may end a response too early without saying so.
            TransportResponse(206, ["fg"], headers: Self.head(4, tag: tag, range: "bytes 5-8/9")),
            TransportResponse(206, ["hi"], headers: Self.head(2, tag: tag, range: "bytes 7-8/9")),
        ])
        #expect(try await read(transport) == "abcdefghi")
        let asked = transport.requests.map { [$0.header("Range"), $0.header("If-Range")] }
        #expect(asked == [[nil, nil], ["bytes=5-", #""t-1""#], ["bytes=7-", #""t-1""#]])
    }

    @Test func neverJoinsTwoContents() async throws {
        let cut = TransportFailure(.broken, "cut")
        let transport = Self.transport([
            TransportResponse(200, ["abc"], headers: Self.head(9), failure: cut),
            TransportResponse(200, ["other"], headers: Self.head(5, tag: #""t-2""#)),
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

    /// As a proxy answers that has a page in the place of the service.
    @Test(arguments: [
        TransportResponse(200, ["<html>"], headers: [("Content-Type", "text/html")]),
        TransportResponse(200, ["<html>"], headers: head(6, tag: #""1""#)),
        TransportResponse(200, ["other"], headers: head(5, tag: #""tt-1""#)),
        TransportResponse(206, ["ab"], headers: head(2, range: "bytes 0-1/9")),
    ])
    func takesNothingButTheContentOfTheTask(_ response: TransportResponse) async throws {
        let transport = Self.transport([response])
        let error = await #expect(throws: TransferError.self) { try await read(transport) }
        #expect(error?.code == .unexpectedResponse)
        #expect(transport.requests.count == 1)
    }

    @Test(
        arguments: [
            nil, "bytes 0-3/9", "bytes 2-8/9", "bytes 3-7/9", "bytes 3-8/10", "bytes 3-8/*",
        ] as [String?]
    )
    func continuesWithNoOtherBytesThanThoseThatAreMissing(_ range: String?) async throws {
        let cut = TransportFailure(.broken, "cut")
        let transport = Self.transport([
            TransportResponse(200, ["abc"], headers: Self.head(9), failure: cut),
            TransportResponse(206, ["WXYZ"], headers: Self.head(4, range: range)),
        ])
        let error = await #expect(throws: TransferError.self) { try await read(transport) }
        #expect(error?.code == .unexpectedResponse)
    }

    @Test(arguments: [("bytes 3-5/6", "abcdef"), ("bytes 2-5/6", nil)] as [(String, String?)])
    func continuesWhereTheLengthIsNotKnown(_ range: String, _ all: String?) async throws {
        let cut = TransportFailure(.broken, "cut")
        let tag = [(name: "ETag", value: #""t-1""#)]
        let transport = Self.transport([
            TransportResponse(200, ["abc"], headers: tag, failure: cut),
            TransportResponse(206, ["def"], headers: Self.head(3, range: range)),
        ])
        let text = try? await read(transport)
        #expect(text == all)
    }

    /// Neither its last bytes, without which the request is no upload, nor those before.
    @Test func readsNoMoreOfAFileThatWasWrittenTo() async throws {
        let folder = try TestFolder("slice")
        try folder.write(String(repeating: "a", count: 600_000), to: "file")
        let file = URL(filePath: "\(folder.path)/file")
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSince1970: 1)],
            ofItemAtPath: file.path
        )
        var parts = FileSlice(file: file, offset: 0, count: 600_000).makeAsyncIterator()
        let first = try await parts.next()
        #expect(first != nil)
        let handle = try FileHandle(forWritingTo: file)
        try handle.write(contentsOf: Data("b".utf8))
        try handle.close()
        let failure = await #expect(throws: TransportFailure.self) { try await parts.next() }
        #expect(failure?.kind == .unreadable)
    }

    @Test func aPartThatIsTakenIsNoStall() async throws {
        let folder = try TestFolder("slice")
        try folder.write("abc", to: "file")
        let file = URL(filePath: "\(folder.path)/file")
        let watch = SendingWatch(stallMax: .milliseconds(50))
        var parts = watch.parts(of: FileSlice(file: file, offset: 0, count: 3))
            .makeAsyncIterator()
        try await watch.stall()
        let start = ContinuousClock.now
        let part = try await parts.next()
        #expect(part != nil)
        try await watch.stall()
        #expect(ContinuousClock.now - start >= .milliseconds(50))
    }

    /// Whether the file system of the tests has files without a name (open(2), O_TMPFILE).
    private static let hasUnnamedFiles: Bool = {
        let folder = FileManager.default.temporaryDirectory.path
        let descriptor = open(folder, 0o20_000_000 | O_DIRECTORY | O_WRONLY, 0o600)
        defer { close(descriptor) }
        return descriptor >= 0
    }()

    /// A process that is killed meanwhile leaves what is there then.
    @Test(arguments: hasUnnamedFiles ? [true, false] : [false])
    func leavesNothingOfAFileThatIsNotComplete(_ unnamed: Bool) async throws {
        let folder = try TestFolder("writer")
        let file = URL(filePath: "\(folder.path)/file")
        let first = try await FileWriter(for: file, unnamed: unnamed)
        try await first.append(Array("abc".utf8))
        #expect(try Self.names(in: folder).isEmpty == unnamed)
        try await first.publish(overwrite: false)
        #expect(try Self.names(in: folder) == ["file"])
        let second = try await FileWriter(for: file, unnamed: unnamed)
        try await second.append(Array("de".utf8))
        let failure = await #expect(throws: FileWriter.Failure.self) {
            try await second.publish(overwrite: false)
        }
        #expect(failure?.isOfExistingFile == true)
        await second.discard()
        #expect(try Self.names(in: folder) == ["file"])
        #expect(try String(contentsOf: file, encoding: .utf8) == "abc")
        let third = try await FileWriter(for: file, unnamed: unnamed)
        try await third.append(Array("de".utf8))
        try await third.publish(overwrite: true)
        #expect(try String(contentsOf: file, encoding: .utf8) == "de")
        #expect(try Self.names(in: folder) == ["file"])
    }

    @Test func aNameMayBeAsLongAsTheSystemHasThem() async throws {
        let folder = try TestFolder("writer")
        let name = String(repeating: "a", count: 255)
        let writer = try await FileWriter(for: URL(filePath: "\(folder.path)/\(name)"))
        try await writer.publish(overwrite: true)
        #expect(try Self.names(in: folder) == [name])
    }

    @Test func namesAFileWhereThereAreNoLinks() throws {
        let folder = try TestFolder("writer")
        let (file, temporary) = ("\(folder.path)/file", "\(folder.path)/temporary")
        try folder.write("abc", to: "temporary")
        try FileWriter.claim(file, for: temporary)
        #expect(try Self.names(in: folder) == ["file"])
        try folder.write("de", to: "temporary")
        let failure = #expect(throws: FileWriter.Failure.self) {
            try FileWriter.claim(file, for: temporary)
        }
        #expect(failure?.isOfExistingFile == true)
        #expect(try String(contentsOfFile: file, encoding: .utf8) == "abc")
    }

    private static func names(in folder: TestFolder) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path)
    }
}
