import ChildProcess
import Foundation
import Testing
import TransferClient
import TransferTestSupport
import TransferWire

/// Tests of `transferd verify` on the data of a service that has stopped.
@Suite(.timeLimit(.minutes(5))) struct VerifyTests {
    private struct Line: Decodable {
        let kind: String
        let task: String?
        let found: Int?
        let repaired: Int?
    }

    /// Returns everything that it prints, and its exit status.
    private func verify(
        _ directory: DataDirectory,
        _ options: String...
    ) async throws -> (status: Int32, lines: [Line]) {
        let process = try Program.start(
            ["verify", "--json"] + options + directory.options,
            log: "/dev/null"
        )
        var lines: [Line] = []
        while let text = await process.line() {
            for line in text.split(separator: UInt8(ascii: "\n")) {
                lines.append(try JSONDecoder().decode(Line.self, from: line))
            }
        }
        return (await process.status(), lines)
    }

    @Test func whatAnOperatorHasRemovedIsListedAndSaid() async throws {
        let directory = try DataDirectory()
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        origin.when("/file", .response(body: .random(seed: 1, size: 1000)))
        let service = try await ServiceProcess(in: directory)
        let client = try service.client(key: directory.apiKey())
        try await client.makeSession("s")
        let (ids, _) = try await client.submitNamingEveryOther(
            Array(repeating: origin.url("/file"), count: 4),
            to: "s"
        )
        try await eventually("all have ended") {
            try await client.session("s").outstanding == 0
        }
        #expect(await service.terminate() == 0)
        #expect(try await verify(directory).status == 0)

        let root = "\(directory.path)/containers"
        let result = try #require(directory.files().keys.first { $0.contains(ids[0]) })
        try directory.removeFile(result)
        // As left by an attempt whose process was killed and of which no row remains.
        let nobodys = "\(root)/\(result.split(separator: "/")[0])/d9.00000100000000ff.part"
        try Data([1]).write(to: URL(filePath: nobodys))
        let found = try await verify(directory)
        #expect(found.status == 1)
        #expect(found.lines.map(\.kind).sorted() == ["content_gone", "file_of_nobody", "summary"])
        #expect(found.lines.first { $0.kind == "content_gone" }?.task == ids[0])
        #expect(found.lines.last?.repaired == 0)
        #expect(FileManager.default.fileExists(atPath: nobodys))

        #expect(try await verify(directory, "--repair").lines.last?.repaired == 2)
        #expect(!FileManager.default.fileExists(atPath: nobodys))
        #expect(try await verify(directory).status == 0)
        let again = try await ServiceProcess(in: directory)
        let other = try again.client(key: directory.apiKey())
        let gone = try await other.task(ids[0])
        #expect(gone.state == "completed")
        #expect(gone.content == nil)
        #expect(gone.contentGoneAt != nil)
        let there = try await other.task(ids[1])
        #expect(there.content != nil)
        #expect(there.contentGoneAt == nil)
        #expect(await again.terminate() == 0)
    }

    @Test func whoCannotLookSaysSo() async throws {
        let directory = try DataDirectory()
        let options = ["--database-url", "postgres://nobody@127.0.0.1:1/none"]
        let status = try await Program.run(["verify"] + options + directory.options).status
        #expect(status == 2)
    }
}
