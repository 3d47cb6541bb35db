import Foundation
import Testing
import TransferContainer
import TransferModel
import TransferStore
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

@Suite(.postgresSchema) struct ContentTests {
    /// The content, more than two chunks and no multiple of one.
    private static let bytes = (0..<300_001).map { UInt8(truncatingIfNeeded: $0 * 31 >> 3) }

    /// Runs `body` with the path of a completed task's content.
    private static func run(
        _ bytes: [UInt8] = bytes,
        contentType: String? = "image/png",
        _ body: @Sendable (APIServer, String, TaskID) async throws -> Void
    ) async throws {
        try await APIServer.run { server in
            let task = try await server.submit(server.session())
            try await server.complete(bytes, contentType: contentType)
            let document = try await server.send("GET", "/v1/tasks/\(task)")
                .json(TaskDocument.self)
            try await body(server, try #require(document.content), task)
        }
    }

    @Test func wholeContentIsServedAsAnAttachment() async throws {
        try await Self.run { server, path, _ in
            let answer = try await server.send("GET", path)
            #expect(answer.status == 200)
            #expect(answer.body == Self.bytes)
            #expect(answer.fields["content-length"] == "300001")
            #expect(answer.fields["content-type"] == "image/png")
            #expect(answer.fields["content-disposition"] == "attachment")
            #expect(answer.fields["x-content-type-options"] == "nosniff")
        }
    }

    @Test func theSuggestedNameGoesWithTheContent() async throws {
        try await APIServer.run { server in
            let task = try await server.submit(server.session())
            try await server.complete([1], suggestedFileName: "Ü \"b\".txt")
            let document = try await server.send("GET", "/v1/tasks/\(task)")
                .json(TaskDocument.self)
            #expect(document.response?.suggestedFilename == "Ü \"b\".txt")
            let answer = try await server.send("GET", "/v1/tasks/\(task)/content")
            #expect(
                answer.fields["content-disposition"]
                    == "attachment; filename*=UTF-8''%C3%9C%20%22b%22.txt"
            )
        }
    }

    @Test func whatTheOriginSaidOfTheBytesIsTold() async throws {
        try await APIServer.run { server in
            let task = try await server.submit(server.session())
            let sums = [
                Checksum(.crc32c, hex: "01020304"),
                Checksum(.sha256, hex: String(repeating: "ab", count: 32)),
            ].compactMap(\.self)
            try await server.complete(
                [1],
                fields: [
                    ("Content-Encoding", "gzip"), ("ETag", "\"é\""), ("X-Twice", "a"),
                    ("x-twice", "b"), ("Set-Cookie", "secret"),
                ],
                finalURL: "https://cdn.example/file?sig=1",
                checksums: sums
            )
            let response = try #require(
                try await server.send("GET", "/v1/tasks/\(task)").json(TaskDocument.self).response
            )
            #expect(response.contentEncoding == "gzip")
            #expect(response.etag == "\"é\"")
            // Its query may be a secret, and is not kept.
            #expect(response.finalURL == "https://cdn.example/file")
            #expect(
                response.checksums == [
                    "crc32c": "01020304", "sha-256": String(repeating: "ab", count: 32),
                ]
            )
            #expect(
                response.headers == [
                    "content-type": "image/png", "content-encoding": "gzip", "etag": "\"é\"",
                    "x-twice": "a, b",
                ]
            )
            let answer = try await server.send("GET", "/v1/tasks/\(task)/content")
            #expect(answer.fields["content-encoding"] == "gzip")
            let digest = Data([UInt8](repeating: 0xAB, count: 32)).base64EncodedString()
            #expect(answer.fields["repr-digest"] == "sha-256=:\(digest):")
            let part = try await server.send(
                "GET",
                "/v1/tasks/\(task)/content",
                fields: [("Range", "bytes=0-0")]
            )
            #expect(part.status == 206)
            #expect(part.fields["content-encoding"] == "gzip")
        }
    }

    @Test func rangesAreExact() async throws {
        try await Self.run { server, path, _ in
            let table: [(String, Range<Int>)] = [
                ("bytes=0-0", 0..<1), ("bytes=1-131072", 1..<131_073),
                ("bytes=300000-", 300_000..<300_001), ("bytes=-1", 300_000..<300_001),
                ("bytes=-999999", 0..<300_001), ("bytes=5-999999999999999999999", 5..<300_001),
                ("Bytes=2-3", 2..<4),
            ]
            for (field, range) in table {
                let answer = try await server.send("GET", path, fields: [("Range", field)])
                #expect(answer.status == 206, "\(field)")
                #expect(answer.body == Array(Self.bytes[range]), "\(field)")
                #expect(
                    answer.fields["content-range"]
                        == "bytes \(range.lowerBound)-\(range.upperBound - 1)/300001"
                )
            }
            for field in ["bytes=300001-", "bytes=999999-1000000", "bytes=-0"] {
                let answer = try await server.send("GET", path, fields: [("Range", field)])
                #expect(answer.status == 416, "\(field)")
                #expect(answer.fields["content-range"] == "bytes */300001")
            }
            for field in ["bytes=5-2", "lines=1-2", "bytes=1-2,4-5", "bytes=a-b", "bytes=-", "x"] {
                let answer = try await server.send("GET", path, fields: [("Range", field)])
                #expect(answer.status == 200, "\(field)")
            }
        }
    }

    @Test func conditionsAreHonoured() async throws {
        try await Self.run { server, path, _ in
            let etag = try #require(try await server.send("HEAD", path).fields["etag"])
            #expect(etag.hasPrefix("\"") && etag.hasSuffix("\""))
            for field in [etag, "W/\(etag)", "\"x\", \(etag)", "*"] {
                let answer = try await server.send("GET", path, fields: [("If-None-Match", field)])
                #expect(answer.status == 304, "\(field)")
                #expect(answer.body.isEmpty)
                #expect(answer.fields["etag"] == etag)
            }
            let other = try await server.send("GET", path, fields: [("If-None-Match", "\"x\"")])
            #expect(other.status == 200)
            let range = ("Range", "bytes=0-9")
            let same = try await server.send("GET", path, fields: [range, ("If-Range", etag)])
            #expect(same.status == 206)
            for field in ["\"x\"", "W/\(etag)", "Sat, 21 Nov 2026 00:00:00 GMT"] {
                let answer = try await server.send(
                    "GET",
                    path,
                    fields: [range, ("If-Range", field)]
                )
                #expect(answer.status == 200, "\(field)")
            }
        }
    }

    @Test func headTellsTheSameWithoutBytes() async throws {
        try await Self.run { server, path, _ in
            let answer = try await server.send("HEAD", path, fields: [("Range", "bytes=0-9")])
            #expect(answer.status == 200)
            #expect(answer.body.isEmpty)
            #expect(answer.fields["content-length"] == "300001")
        }
    }

    @Test func emptyContentIsContent() async throws {
        try await Self.run([]) { server, path, _ in
            let answer = try await server.send("GET", path)
            #expect(answer.status == 200)
            #expect(answer.fields["content-length"] == "0")
            let range = try await server.send("GET", path, fields: [("Range", "bytes=0-")])
            #expect(range.status == 416)
        }
    }

    @Test func taskThatIsNotCompletedHasNoContent() async throws {
        try await APIServer.run { server in
            let task = try await server.submit(server.session())
            let answer = try await server.send("GET", "/v1/tasks/\(task)/content")
            #expect(answer.status == 409)
            #expect(answer.code == .taskNotCompleted)
        }
    }

    @Test func fileThatIsNotTheResultIsGone() async throws {
        try await Self.run { server, path, task in
            let file = try await server.file(of: task, tenant: server.first.id)
            let secret = "\(server.containers)/secret"
            try Data(Self.bytes).write(to: URL(filePath: secret))
            try FileManager.default.removeItem(atPath: file)
            let absent = try await server.send("GET", path)
            #expect(absent.status == 410)
            #expect(absent.code == .contentGone)
            try FileManager.default.createSymbolicLink(
                atPath: file,
                withDestinationPath: secret
            )
            #expect(try await server.send("GET", path).status == 410)
            try FileManager.default.removeItem(atPath: file)
            try Data([1]).write(to: URL(filePath: file))
            #expect(try await server.send("GET", path).status == 410)
            try FileManager.default.removeItem(atPath: file)
            try FileManager.default.createDirectory(
                atPath: file,
                withIntermediateDirectories: false
            )
            #expect(try await server.send("GET", path).status == 410)
        }
    }

    /// Completes the only queued task, which has the destination `d/x`.
    ///
    /// - Returns: the path of its file.
    private static func completeAtDestination(_ server: APIServer) async throws -> String {
        let claim = try await server.claim()
        let path = "\(server.containers)/\(claim.tenant)/d/x"
        try FileManager.default.createDirectory(
            at: URL(filePath: path).deletingLastPathComponent(),
            withIntermediateDirectories: true
        )
        try Data(bytes).write(to: URL(filePath: path))
        let file = try ContainerFile(
            Container.Place("d/x", tenant: claim.tenant),
            in: Container(directory: server.containers)
        )
        let identity = try #require(try file.identity())
        let result = TransferResult(
            httpStatus: 200,
            bytesReceived: Int64(bytes.count),
            isLengthVerified: true,
            checksums: [Checksum(.sha256, hex: String(repeating: "ab", count: 32))]
                .compactMap(\.self),
            file: identity
        )
        let begun = try await server.stores.completions.end(
            [],
            beginning: [PendingRename(of: claim, result: result, file: identity)]
        )
        #expect(begun == [claim.task])
        _ = try await server.stores.completions.end([
            AttemptEnd(task: claim.task, fence: claim.fence, outcome: .completed)
        ])
        return path
    }

    /// Another task has overwritten the destination with a file of the same length.
    @Test func aFileThatAnotherHasPutThereIsNotTheContent() async throws {
        try await APIServer.run { server in
            let task = try await server.submit(
                server.session(),
                """
                {
                    "url": "http://origin.example/a",
                    "destination": {"path": "d/x", "overwrite": true}
                }
                """
            )
            let path = try await Self.completeAtDestination(server)
            let content = "/v1/tasks/\(task)/content"
            let own = try await server.send("GET", content)
            #expect(own.status == 200)
            #expect(own.fields["repr-digest"] != nil)
            let others = Array(Self.bytes.reversed())
            func setTime(_ time: Date) throws {
                try FileManager.default.setAttributes(
                    [.modificationDate: time],
                    ofItemAtPath: path
                )
            }
            // Written into the very file, as a shell does.
            let file = try FileHandle(forUpdating: URL(filePath: path))
            try file.write(contentsOf: Data(others))
            try file.close()
            try setTime(Date(timeIntervalSinceNow: 3600))
            let changed = try await server.send("GET", content)
            #expect(changed.status == 200)
            #expect(changed.fields["repr-digest"] == nil)
            // Written beside it and renamed, as results are.
            try Data(others).write(to: URL(filePath: path), options: .atomic)
            try setTime(Date(timeIntervalSinceNow: 3600))
            let foreign = try await server.send("GET", content)
            #expect(foreign.status == 410)
            #expect(foreign.code == .contentGone)
            // A copy keeps the time of the original.
            try setTime(Date(timeIntervalSinceNow: -3600))
            let copy = try await server.send("GET", content)
            #expect(copy.status == 200)
            #expect(copy.body == others)
            #expect(copy.fields["repr-digest"] == nil)
        }
    }

    @Test func originsWordForItsTypeIsCheckedFirst() async throws {
        try await Self.run([1], contentType: "text/html\r\nX: y") { server, path, _ in
            let answer = try await server.send("GET", path)
            #expect(answer.fields["content-type"] == "application/octet-stream")
            #expect(answer.fields["x"] == nil)
        }
    }

    @Test(.timeLimit(.minutes(5))) func descriptorIsReleasedWhenTheClientGoesAway() async throws {
        try await Self.run([UInt8](repeating: 7, count: 32 << 20)) { server, path, task in
            let file = try await server.file(of: task, tenant: server.first.id)
            let request = HTTPClient.request(
                "GET",
                path,
                fields: [("Authorization", "Bearer \(server.first.key.serialized)")],
                body: nil
            )
            let socket = try HTTPClient.connect(server.client.port)
            _ = request.withUnsafeBytes { send(socket, $0.baseAddress, $0.count, 0) }
            let count = try await onThread {
                var byte: UInt8 = 0
                return recv(socket, &byte, 1, 0)
            }
            #expect(count == 1)
            #expect(Self.isOpen(file))
            close(socket)
            // Nothing signals that the server has noticed; the test's own limit bounds the wait.
            while Self.isOpen(file) {
                try Task.checkCancellation()
                await Task.yield()
            }
        }
    }

    /// Returns whether this process has a descriptor of `file`.
    private static func isOpen(_ file: String) -> Bool {
        let numbers = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return numbers.contains {
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)"))
                == file
        }
    }

    @Test(arguments: [
        ("text/plain", "text/plain"), ("text/plain; charset=latin1", "text/plain; charset=latin1"),
        ("text", "application/octet-stream"), ("a/b/c", "application/octet-stream"),
        ("/b", "application/octet-stream"), ("a/b;\n", "application/octet-stream"),
        ("a /b", "application/octet-stream"), ("", "application/octet-stream"),
    ])
    func mediaTypesAreCheckedForTheirForm(type: String, served: String) {
        #expect(MediaType.acceptable(type) == served)
    }
}
