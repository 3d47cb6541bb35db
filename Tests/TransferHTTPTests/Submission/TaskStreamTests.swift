import Foundation
import Postgres
import Synchronization
import Testing
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

@Suite(.postgresSchema) struct TaskStreamTests {
    private static let path = "/v1/sessions/photos/tasks"

    /// Returns one line for each number, distinguished by client strings.
    private static func lines(_ range: Range<Int>) -> String {
        range.map {
            #"{"url": "http://a.example/\#($0)", "client_persisted_string": "\#($0)"}"# + "\n"
        }
        .joined()
    }

    @Test func everyLineBecomesATaskAndGetsItsReceipt() async throws {
        try await APIServer.run { server in
            _ = try await server.session()
            // The last line needs no end, and blank lines are ignored.
            let body = "\n" + Self.lines(0..<2500).dropLast() + "\r\n  \n"
            let answer = try await server.stream(body)
            #expect(answer.status == 202)
            #expect(answer.fields["content-type"] == "application/x-ndjson")
            #expect(answer.fields["location"] == Self.path)
            let receipts = try answer.receipts
            #expect(receipts.count == 2500)
            #expect(try await server.clientStrings() == (0..<2500).map(String.init))
            let ids = try await server.ids()
            #expect(receipts.map(\.id) == ids)
            #expect(server.wakes.value == 3)
        }
    }

    @Test func aPartIsAnsweredBeforeTheNextOneHasCome() async throws {
        try await APIServer.run { server in
            _ = try await server.session()
            let client = try server.openStream()
            try client.send(chunk: Self.lines(0..<1000))
            try await eventually("the first part is answered") { client.lineCount == 1000 }
            #expect(client.head.hasPrefix("HTTP/1.1 202"))
            #expect(try await server.ids().count == 1000)
            // Bytes that arrive slowly hold nothing in the database.
            try client.send(chunk: String(Self.lines(1000..<1001).prefix(20)))
            let transactions = """
                pg_stat_activity
                WHERE state LIKE 'idle in%' AND application_name = current_schema()
                """
            #expect(try await server.count(of: transactions) == 0)
            try client.send(chunk: String(Self.lines(1000..<1001).dropFirst(20)))
            try client.send(chunk: nil)
            try await eventually("the answer is whole") { client.isWhole }
            #expect(client.lineCount == 1001)
        }
    }

    @Test func aWrongLineEndsTheAnswerAndKeepsTheParts() async throws {
        try await APIServer.run { server in
            _ = try await server.session()
            let wrong = #"{"url": "http://a.example/", "priority": 7}"#
            let body = Self.lines(0..<1200) + wrong + "\n" + Self.lines(1201..<2500)
            let answer = try await server.stream(body)
            #expect(answer.status == 202)
            #expect(answer.lines.count == 1001)
            let problem = try answer.lastProblem
            #expect(problem.code == .validationFailed)
            #expect(problem.line == 1201)
            #expect(problem.errors?.map(\.pointer) == ["/priority"])
            #expect(problem.requestID == answer.fields["x-request-id"])
            #expect(try await server.ids().count == 1000)
        }
    }

    @Test(arguments: [
        (#"{"url": "#, 400, ProblemDetails.Code.malformedJSON, ""),
        (#"{"url": NaN}"#, 400, .malformedJSON, ""),
        (#"{"url": "http://a.example/", "surprise": 1}"#, 422, .validationFailed, "/surprise"),
        (#"[{"url": "http://a.example/"}]"#, 422, .validationFailed, ""),
        (#"{"url": "http://a.example/", "kind": "data"}"#, 422, .validationFailed, "/kind"),
        (String(repeating: "x", count: TaskLines.lineBytesMax + 1), 413, .bodyTooLarge, ""),
    ])
    func aWrongLineOfTheFirstPartIsTheAnswer(
        line: String,
        status: Int,
        code: ProblemDetails.Code,
        pointer: String
    ) async throws {
        try await APIServer.run { server in
            _ = try await server.session()
            let body = Self.lines(0..<3) + "\n" + line + "\n" + Self.lines(3..<6)
            let answer = try await server.stream(body)
            #expect(answer.status == status)
            #expect(answer.code == code)
            let problem = try answer.json(ProblemDetails.self)
            #expect(problem.line == 5)
            #expect(problem.errors?.first?.pointer ?? "" == pointer)
            // Only a line that breaks off may be a part of a task.
            let isPart = problem.detail?.contains("Each line of this body") ?? false
            #expect(isPart == line.hasSuffix(" "))
            #expect(try await server.ids().isEmpty)
        }
    }

    /// Blank lines count, too.
    @Test func moreLinesThanABodyMayHaveAreRefused() async throws {
        try await APIServer.run { server in
            _ = try await server.session()
            let body = String(repeating: "\n", count: 1_000_000) + Self.lines(0..<1)
            let answer = try await server.stream(body)
            #expect(answer.status == 413)
            #expect(answer.code == .bodyTooLarge)
            #expect(try answer.json(ProblemDetails.self).line == 1_000_001)
            #expect(try await server.ids().isEmpty)
        }
    }

    @Test func whatIsNoStreamOfTasksIsRefused() async throws {
        try await APIServer.run { server in
            #expect(try await server.stream(Self.lines(0..<2)).code == .unknownSession)
            _ = try await server.session()
            let empty = try await server.stream(" \n\n")
            #expect(empty.faults == [" no_items"])
            for fields in [
                [("Content-Type", "application/x-ndjson; charset=latin1")],
                [("Content-Type", "application/x-ndjson"), ("Content-Encoding", "gzip")],
            ] {
                let answer = try await server.send(
                    "POST",
                    Self.path,
                    Self.lines(0..<1),
                    fields: fields
                )
                #expect(answer.code == .unsupportedMediaType)
            }
            #expect(try await server.ids().isEmpty)
        }
    }

    @Test(arguments: [true, false])
    func ofABodyThatBreaksOffTheWholePartsStay(isChunked: Bool) async throws {
        try await APIServer.run { server in
            _ = try await server.session()
            let client = try server.openStream(
                length: isChunked ? nil : Self.lines(0..<2000).utf8.count
            )
            try client.send(Self.lines(0..<1000), isChunked: isChunked)
            try await eventually("the first part is answered") { client.lineCount == 1000 }
            try client.send(Self.lines(1000..<1010), isChunked: isChunked)
            client.stopSending()
            // The server has seen the end of the received bytes, and released the connection.
            try await eventually("the connection has ended") { client.isEnded }
            #expect(try await server.ids().count == 1000)
        }
    }

    @Test func whatAServerHasNotReadToItsEndWhenItStopsIsNotStored() async throws {
        // The client outlives the server, so that it is not the client that breaks off.
        let stream = Mutex<StreamClient?>(nil)
        try await APIServer.run { server in
            _ = try await server.session()
            let client = try server.openStream()
            stream.withLock { $0 = client }
            try client.send(chunk: Self.lines(0..<1000))
            try await eventually("the first part is answered") { client.lineCount == 1000 }
            try client.send(chunk: Self.lines(1000..<1010))
            // This is answered after it on another connection, so that the lines are on their way.
            #expect(try await server.ids().count == 1000)
        }
        let connection = try await TestDatabase.current.connection()
        let rows = try await connection.execute("SELECT count(*) AS count FROM task")
        #expect(try rows[0].decode("count", as: Int64.self) == 1000)
        stream.withLock { $0?.goAway() }
    }

    @Test func aStreamThatIsRepeatedGoesOnWhereItWas() async throws {
        try await APIServer.run { server in
            _ = try await server.session()
            let client = try server.openStream(key: "k")
            try client.send(chunk: Self.lines(0..<1000))
            try await eventually("the first part is answered") { client.lineCount == 1000 }
            client.goAway()
            let first = client.text
            let again = try await server.stream(Self.lines(0..<2200), key: "k")
            #expect(again.status == 202)
            #expect(again.fields["idempotency-replayed"] == "true")
            #expect(again.text.hasPrefix(first))
            #expect(again.lines.count == 2200)
            #expect(try await server.ids().count == 2200)
            #expect(try await server.stream(Self.lines(0..<2200), key: "k").text == again.text)
            #expect(try await server.ids().count == 2200)
            // The first part is the same, and the second is not.
            let other = try await server.stream(
                Self.lines(0..<1999) + Self.lines(5000..<5001),
                key: "k"
            )
            #expect(other.lines.count == 1001)
            #expect(try other.lastProblem.code == .idempotencyKeyReused)
            let foreign = try await server.stream(Self.lines(1..<5), key: "k")
            #expect(foreign.status == 422)
            #expect(foreign.code == .idempotencyKeyReused)
            #expect(try await server.ids().count == 2200)
        }
    }

    @Test func aKeyIsNotForAStreamAndAnObject() async throws {
        try await APIServer.run { server in
            _ = try await server.session()
            let line = #"{"url": "http://a.example/"}"#
            _ = try await server.stream(line, key: "k")
            let fields = [("Idempotency-Key", "k")]
            let object = try await server.send("POST", Self.path, line, fields: fields)
            #expect(object.code == .idempotencyKeyReused)
            #expect(try await server.stream(line, key: "\"k").code == .invalidIdempotencyKey)
            #expect(try await server.ids().count == 1)
        }
    }

    @Test func aSessionThatEndsMeanwhileIsTold() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let client = try server.openStream()
            try client.send(chunk: Self.lines(0..<1000))
            try await eventually("the first part is answered") { client.lineCount == 1000 }
            try await server.send("POST", "\(session)/finish")
            try client.send(chunk: Self.lines(1000..<1001))
            try client.send(chunk: nil)
            try await eventually("the answer is whole") { client.isWhole }
            let last = try #require(client.text.split(separator: "\n").last)
            let problem = try JSONDecoder().decode(ProblemDetails.self, from: Data(last.utf8))
            #expect(problem.code == .sessionFinishing)
            #expect(try await server.ids().count == 1000)
        }
    }

    /// Lines of 64 KiB fill a part long before there are a thousand, and what may be values of JSON
    /// before there are 4 MiB.
    @Test(arguments: [("x", 70), (",", 5)])
    func partsEndWhereTheirLinesSayAndNotTheirPackets(filler: String, count: Int) async throws {
        try await APIServer.run { server in
            _ = try await server.session()
            let string = String(repeating: filler, count: 64 * 1024)
            let line = #"{"url": "http://a.example/", "client_persisted_string": "\#(string)"}"#
            let body = Array(repeating: line, count: count).joined(separator: "\n")
            let answer = try await server.stream(body, key: "k")
            #expect(answer.lines.count == count)
            let keys = try await server.count(of: "idempotency_key")
            #expect(keys == 2)
            #expect(try await server.stream(body, key: "k").text == answer.text)
        }
    }
}

extension APIServer {
    /// Sends a whole stream of tasks.
    fileprivate func stream(_ body: String, key: String? = nil) async throws -> HTTPClient.Answer {
        var fields = [("Content-Type", TaskStream.mediaType)]
        if let key { fields.append(("Idempotency-Key", key)) }
        return try await send("POST", "/v1/sessions/photos/tasks", body, fields: fields)
    }

    /// Starts a stream whose body is still to come.
    fileprivate func openStream(key: String? = nil, length: Int? = nil) throws -> StreamClient {
        let framing = length.map { "Content-Length: \($0)" } ?? "Transfer-Encoding: chunked"
        var lines = [
            "POST /v1/sessions/photos/tasks HTTP/1.1", "Host: localhost", "Connection: close",
            "Authorization: Bearer \(first.key.serialized)",
            "Content-Type: \(TaskStream.mediaType)", framing,
        ]
        if let key { lines.append("Idempotency-Key: \(key)") }
        let head = Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
        return try StreamClient(port: client.port, request: head)
    }

    fileprivate func count(of rows: String) async throws -> Int64 {
        let connection = try await TestDatabase.current.connection()
        let query = Query(stringLiteral: "SELECT count(*) AS count FROM \(rows)")
        return try await connection.execute(query)[0].decode("count")
    }

    /// Returns the tasks' identifiers in the order of the list, which is that of submission.
    fileprivate func ids() async throws -> [String] {
        let connection = try await TestDatabase.current.connection()
        let rows = try await connection.execute("SELECT id FROM task ORDER BY id")
        return try rows.map { row in
            let id: UUID = try row.decode("id")
            return id.uuidString.lowercased()
        }
    }

    fileprivate func clientStrings() async throws -> [String] {
        let connection = try await TestDatabase.current.connection()
        let rows = try await connection.execute(
            """
            SELECT t.client_string FROM task t JOIN event e ON e.task_id = t.id ORDER BY e.sequence
            """
        )
        return try rows.map { row in
            let bytes: [UInt8] = try row.decode("client_string")
            return String(decoding: bytes, as: UTF8.self)
        }
    }
}

extension StreamClient {
    /// The number of complete lines of the answer.
    fileprivate var lineCount: Int { text.utf8.count { $0 == UInt8(ascii: "\n") } }

    /// Sends a chunk of the body, or the last one.
    func send(chunk: String?) throws {
        guard let chunk else { return try send(Array("0\r\n\r\n".utf8)) }
        let size = String(chunk.utf8.count, radix: 16)
        try send(Array("\(size)\r\n\(chunk)\r\n".utf8))
    }

    fileprivate func send(_ body: String, isChunked: Bool) throws {
        if isChunked { try send(chunk: body) } else { try send(Array(body.utf8)) }
    }
}

extension HTTPClient.Answer {
    fileprivate var lines: [Substring] { text.split(separator: "\n") }

    fileprivate var receipts: [TaskReceipt] {
        get throws {
            try lines.map { try JSONDecoder().decode(TaskReceipt.self, from: Data($0.utf8)) }
        }
    }

    fileprivate var lastProblem: ProblemDetails {
        get throws {
            let line = try #require(lines.last)
            return try JSONDecoder().decode(ProblemDetails.self, from: Data(line.utf8))
        }
    }
}
