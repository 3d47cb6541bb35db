import Postgres
import Testing
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

/// Uploads all of whose bytes have arrived, but not the response to the last of them.
extension BodyTests {
    /// Sends a request without a byte.
    private static func putNothing(
        _ server: APIServer,
        _ path: String,
        range: String? = nil
    ) async throws -> HTTPClient.Answer {
        let fields = range.map { [("Content-Range", $0)] } ?? []
        return try await server.send(
            "PUT",
            "\(path)/body",
            bytes: [],
            fields: fields + [("Content-Type", "application/octet-stream")]
        )
    }

    /// Sends a request whose framing does not tell beforehand how many bytes it has.
    static func putInChunks(
        _ server: APIServer,
        _ path: String,
        _ chunks: String = ""
    ) async throws -> HTTPClient.Answer {
        let head = HTTPClient.request(
            "PUT",
            "\(path)/body",
            fields: [
                ("Authorization", "Bearer \(server.first.key.serialized)"),
                ("Transfer-Encoding", "chunked"),
            ],
            body: nil
        )
        return try await server.client.exchange(head + Array("\(chunks)0\r\n\r\n".utf8))
    }

    @Test func bytesThatArrivedOutliveAFailureOfTheLastStep() async throws {
        try await Self.run { server, path, id in
            let connection = try await TestDatabase.current.connection()
            _ = try await connection.execute(
                """
                CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN RAISE EXCEPTION 'refused'; END $$
                """
            )
            _ = try await connection.execute(
                """
                CREATE TRIGGER refuse BEFORE UPDATE ON held
                FOR EACH STATEMENT EXECUTE FUNCTION refuse()
                """
            )
            #expect(try await Self.put(server, path).status >= 500)
            _ = try await connection.execute("DROP TRIGGER refuse ON held")
            let offset = try await server.send("GET", "\(path)/body").fields["upload-offset"]
            #expect(offset == "\(Self.total)")
            // What a client sends that has nothing left to send, and knows no better.
            let known = try await Self.putNothing(server, path)
            let unknown = try await Self.putInChunks(server, path)
            let none = try await Self.putNothing(server, path, range: "bytes */0")
            let more = try await Self.putNothing(server, path, range: "bytes */\(Self.total + 1)")
            for refused in [known, unknown, none, more] {
                #expect(refused.status == 409)
                #expect(refused.code == .wrongOffset)
                #expect(refused.fields["upload-offset"] == "\(Self.total)")
            }
            #expect(try Self.staged(server, id) == Self.bytes)
            let last = try await Self.putNothing(server, path, range: "bytes */\(Self.total)")
            #expect(last.status == 200)
            #expect(try last.json(TaskDocument.self).state == "queued")
            #expect(try Self.staged(server, id) == Self.bytes)
        }
    }

    @Test(arguments: [nil, "bytes */0"] as [String?])
    func aBodyMayBeEmpty(range: String?) async throws {
        try await Self.run { server, path, id in
            let answer = try await Self.putNothing(server, path, range: range)
            #expect(answer.status == 200)
            let staged = try Self.staged(server, id)
            #expect(staged.isEmpty)
        }
    }

    @Test func aBodyInChunksMayBeEmpty() async throws {
        try await Self.run { server, path, id in
            let answer = try await Self.putInChunks(server, path)
            #expect(answer.status == 200)
            let staged = try Self.staged(server, id)
            #expect(staged.isEmpty)
        }
    }

    @Test(arguments: ["bytes */", "bytes */-1", "bytes */+1", "bytes */99999999999999999999"])
    func aTotalThatIsNoneIsRefused(range: String) async throws {
        try await Self.run { server, path, _ in
            let refused = try await Self.putNothing(server, path, range: range)
            #expect(refused.faults == ["Content-Range invalid_value"])
        }
    }
}
