import Testing

@testable import TransferClient

@Suite struct ServerSentEventParserTests {
    private func blocks(_ parts: [String]) throws -> [ServerSentEvent] {
        var parser = ServerSentEventParser()
        return try parts.flatMap { try parser.read(Array($0.utf8)) }
    }

    @Test func readsBlocksHoweverTheyAreCut() throws {
        let text = "retry: 5\n\nid: a:1\nevent: task.created\ndata: {\"é\":1}\n\n:\n\nid: a:2\n\n"
        let whole = try blocks([text])
        #expect(
            whole == [
                ServerSentEvent(retry: 5),
                ServerSentEvent(id: "a:1", type: "task.created", data: "{\"é\":1}"),
                ServerSentEvent(id: "a:2"),
            ]
        )
        var parser = ServerSentEventParser()
        #expect(try Array(text.utf8).flatMap { try parser.read([$0]) } == whole)
    }

    @Test(arguments: ["\n", "\r\n", "\r"])
    func endsLinesInAllThreeWays(_ end: String) throws {
        let text = ["id: 7", "data: a", "data: b", "", ""].joined(separator: end)
        let expected = [ServerSentEvent(id: "7", data: "a\nb")]
        #expect(try blocks([text]) == expected)
        // A pair that is cut in its middle is one end.
        #expect(try blocks(text.map { String($0) }) == expected)
    }

    @Test func keepsTheIdentifierUntilAnotherComes() throws {
        let found = try blocks(["id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n"])
        #expect(found.map(\.id) == ["1", "1", ""])
    }

    @Test func skipsWhatItDoesNotKnow() throws {
        #expect(try blocks(["color: red\n\n: comment\n\n\n\n"]).isEmpty)
        #expect(try blocks(["id: a\0b\ndata:  x\n\n"]) == [ServerSentEvent(data: " x")])
    }

    @Test func refusesABlockWithoutEnd() throws {
        var parser = ServerSentEventParser()
        let part = [UInt8](repeating: 0x61, count: ServerSentEventParser.blockBytesMax)
        #expect(try parser.read(part).isEmpty)
        #expect(throws: ServerSentEventParser.TooLong.self) { try parser.read([0x61]) }
    }
}
