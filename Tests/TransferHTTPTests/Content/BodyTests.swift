import Crypto
import Foundation
import Glibc
import Testing
import TransferContainer
import TransferModel
import TransferStore
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

/// Uploads: their requests, and the bytes that a client brings.
@Suite(.postgresSchema) struct BodyTests {
    static let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 * 7 >> 2) }
    static let total = bytes.count

    static let task =
        #"{"kind": "upload", "url": "http://o.example/", "upload": {"staged": true}}"#

    static func run(
        _ task: String = Self.task,
        _ body: @Sendable (APIServer, String, TaskID) async throws -> Void
    ) async throws {
        try await APIServer.run { server in
            let id = try await server.submit(server.session(), task)
            try await body(server, "/v1/tasks/\(id)", id)
        }
    }

    static func put(
        _ server: APIServer,
        _ path: String,
        _ range: Range<Int>? = nil,
        _ fields: [(String, String)] = []
    ) async throws -> HTTPClient.Answer {
        var all = fields + [("Content-Type", "application/octet-stream")]
        if let range {
            let last = range.upperBound - 1
            all.append(("Content-Range", "bytes \(range.lowerBound)-\(last)/\(total)"))
        }
        return try await server.send(
            "PUT",
            "\(path)/body",
            bytes: Array(bytes[range ?? 0..<total]),
            fields: all
        )
    }

    /// Mounts a file system for five bodies as the first tenant's folder, which it returns.
    static func mountFolder(_ server: APIServer, flags: UInt = 0) throws -> String {
        let folder = "\(server.containers)/\(server.first.id)"
        try FileManager.default.createDirectory(
            atPath: folder,
            withIntermediateDirectories: true
        )
        guard mount("tmpfs", folder, "tmpfs", flags, "size=\(5 * total)") == 0 else {
            try Test.cancel("this system does not let root mount: errno \(errno)")
        }
        return folder
    }

    static func staged(_ server: APIServer, _ id: TaskID) throws -> [UInt8] {
        let path = "\(server.containers)/\(server.first.id)/\(ResultLocation.bodyPath(of: id))"
        return Array(try Data(contentsOf: URL(filePath: path)))
    }

    @Test func bytesThatComeAtOnceBeginTheTask() async throws {
        try await Self.run { server, path, id in
            let waiting = try await server.send("GET", path).json(TaskDocument.self)
            #expect(waiting.state == "suspended")
            #expect(waiting.kind == "upload")
            #expect(waiting.method == "PUT")
            #expect(waiting.reason?.contains("bring the bytes") == true)
            // Nothing starts before the bytes are there.
            let early = try await server.send("POST", "\(path)/resume").json(TaskDocument.self)
            #expect(early.state == "suspended")
            let answer = try await Self.put(server, path)
            #expect(answer.status == 200)
            #expect(try answer.json(TaskDocument.self).state == "queued")
            #expect(try Self.staged(server, id) == Self.bytes)
            let claim = try await server.claim()
            #expect(claim.request == TransferRequest(upload: .staged))
            let again = try await Self.put(server, path)
            #expect(again.status == 409)
            #expect(again.code == .bodyNotExpected)
        }
    }

    @Test(.enabled("mounting a file system needs root") { geteuid() == 0 })
    func aContainerThatCannotBeWrittenIsNamed() async throws {
        try await Self.run { server, path, id in
            let folder = try Self.mountFolder(server, flags: UInt(MS_RDONLY))
            let refused = try await Self.put(server, path)
            umount2(folder, Int32(MNT_DETACH))
            #expect(refused.status == 507)
            #expect(refused.code == .storageUnwritable)
            #expect(try await Self.put(server, path).status == 200)
            #expect(try Self.staged(server, id) == Self.bytes)
        }
    }

    /// On a disk for five bodies a tenant has three, however much is free; other files on the disk
    /// count towards nobody's part.
    @Test(.enabled("mounting a file system needs root") { geteuid() == 0 })
    func bodiesOfATenantLeaveRoomOnTheDisk() async throws {
        try await APIServer.run { server in
            let folder = try Self.mountFolder(server)
            defer { umount2(folder, Int32(MNT_DETACH)) }
            let session = try await server.session()
            func submit() async throws -> TaskID { try await server.submit(session, Self.task) }
            let taken = try await [submit(), submit(), submit()]
            for id in taken {
                #expect(try await Self.put(server, "/v1/tasks/\(id)").status == 200)
            }
            let next = "/v1/tasks/\(try await submit())"
            let refused = try await Self.put(server, next)
            #expect(refused.status == 429)
            #expect(try refused.json(ProblemDetails.self).limit == "staged_bytes")
            #expect(refused.fields["retry-after"] != nil)
            #expect(refused.fields["upload-offset"] == "0")
            // The rest of the body would be read only to be discarded.
            #expect(refused.fields["connection"] == "close")
            let bodies = "\(folder)/\(ResultLocation.bodyFolder)"
            try FileManager.default.removeItem(atPath: bodies)
            let other = Data(count: 3 * Self.total)
            try other.write(to: URL(filePath: "\(folder)/other"))
            try await eventually("it is counted again") {
                try await Self.put(server, next).status == 200
            }
            // It has nothing to end on a disk where others' files leave it no part.
            try FileManager.default.removeItem(atPath: bodies)
            try Data(count: 5 * Self.total / 6).write(to: URL(filePath: "\(folder)/more"))
            let last = "/v1/tasks/\(try await submit())"
            try await eventually("the disk is found to be full") {
                try await Self.put(server, last).code == .storageFull
            }
        }
    }

    /// When several clients bring the same bytes at once, one of them does it; nobody touches the
    /// bytes afterwards.
    @Test func bytesThatAreThereAreNotTakenBack() async throws {
        try await Self.run { server, path, id in
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<6 { group.addTask { try await Self.put(server, path).status } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(statuses.count { $0 == 200 } == 1)
            #expect(statuses.count { $0 == 409 } == 5)
            #expect(try Self.staged(server, id) == Self.bytes)
        }
    }

    @Test func bytesGoOnWhereTheyEnded() async throws {
        try await Self.run { server, path, id in
            func offset() async throws -> String? {
                try await server.send("GET", "\(path)/body").fields["upload-offset"]
            }
            #expect(try await offset() == "0")
            let first = try await Self.put(server, path, 0..<100_000)
            #expect(first.status == 202)
            #expect(first.fields["upload-offset"] == "100000")
            #expect(try await offset() == "100000")
            let ahead = try await Self.put(server, path, 100_001..<200_000)
            #expect(ahead.code == .wrongOffset)
            #expect(ahead.fields["upload-offset"] == "100000")
            #expect(try await Self.put(server, path, 100_000..<200_000).status == 202)
            let last = try await Self.put(server, path, 200_000..<300_000)
            #expect(last.status == 200)
            #expect(try Self.staged(server, id) == Self.bytes)
        }
    }

    /// As when a client crashes: an incomplete body is not taken for the whole.
    @Test(arguments: ["Content-Length: 10", "Transfer-Encoding: chunked"])
    func aClientThatGoesAwayHasNotBroughtTheWhole(framing: String) async throws {
        try await Self.run { server, path, id in
            let head = """
                PUT \(path)/body HTTP/1.1\r
                Host: a\r
                Authorization: Bearer \(server.first.key.serialized)\r
                \(framing)\r
                \r

                """
            let body = framing.hasPrefix("T") ? "3\r\nabc\r\n" : "abc"
            let socket = try HTTPClient.connect(server.client.port)
            _ = Array((head + body).utf8).withUnsafeBytes {
                send(socket, $0.baseAddress, $0.count, 0)
            }
            try await eventually("the bytes are staged") {
                try await server.send("GET", "\(path)/body").fields["upload-offset"] == "3"
            }
            close(socket)
            // It is free for the next request once the server has noticed.
            try await eventually("the rest is taken") {
                try await Self.put(server, path).status == 200
            }
            #expect(try Self.staged(server, id) == Self.bytes)
        }
    }

    @Test func bytesMayBeginAnew() async throws {
        try await Self.run { server, path, id in
            _ = try await Self.put(server, path, 0..<100_000)
            #expect(try await Self.put(server, path, 0..<50_000).status == 202)
            #expect(try await Self.put(server, path, 50_000..<300_000).status == 200)
            #expect(try Self.staged(server, id) == Self.bytes)
        }
    }

    @Test(arguments: [true, false], [true, false])
    func theDigestOfTheWholeIsHeld(isRight: Bool, inParts: Bool) async throws {
        try await Self.run { server, path, id in
            var digest = Array(SHA256.hash(data: Self.bytes))
            if !isRight { digest[0] ^= 1 }
            let field = ("Repr-Digest", "sha-256=:\(Data(digest).base64EncodedString()):")
            if inParts { _ = try await Self.put(server, path, 0..<100_000) }
            let answer = try await Self.put(
                server,
                path,
                inParts ? 100_000..<300_000 : nil,
                [field]
            )
            #expect(answer.status == (isRight ? 200 : 422))
            if !isRight {
                #expect(answer.code == .digestMismatch)
                #expect(try Self.staged(server, id).isEmpty)
                #expect(try await Self.put(server, path).status == 200)
            }
        }
    }

    @Test func whatIsHeldStaysSuspendedWhenItsBytesAreThere() async throws {
        try await Self.run(
            #"""
            {"kind": "upload", "url": "http://o.example/", "upload": {"staged": true},
             "autostart": false}
            """#
        ) { server, path, _ in
            let whole = try await Self.put(server, path).json(TaskDocument.self)
            #expect(whole.state == "suspended")
            #expect(whole.reason?.contains("resumed") == true)
            let resumed = try await server.send("POST", "\(path)/resume").json(TaskDocument.self)
            #expect(resumed.state == "queued")
        }
    }

    @Test func moreThanTheLimitIsRefused() async throws {
        try await Self.run { server, path, _ in
            let answer = try await server.send(
                "PUT",
                "\(path)/body",
                bytes: [1],
                fields: [
                    ("Content-Type", "text/plain"), ("Content-Range", "bytes 0-0/1000001"),
                ]
            )
            #expect(answer.status == 413)
            for field in ["bytes 0-1/10", "bytes 0-0/*", "0-0/1", "bytes */1"] {
                let wrong = try await server.send(
                    "PUT",
                    "\(path)/body",
                    bytes: [1],
                    fields: [("Content-Type", "text/plain"), ("Content-Range", field)]
                )
                #expect(wrong.status == 422, "\(field)")
            }
        }
    }

    @Test func aTaskThatWaitsForNoBytesTakesNone() async throws {
        try await Self.run(#"{"url": "http://o.example/"}"#) { server, path, _ in
            #expect(try await Self.put(server, path).code == .bodyNotExpected)
            #expect(try await server.send("GET", "\(path)/body").code == .bodyNotExpected)
            let foreign = try await server.send(
                "PUT",
                "\(path)/body",
                bytes: [1],
                as: server.second,
                fields: [("Content-Type", "text/plain")]
            )
            #expect(foreign.status == 404)
        }
    }

    @Test func whatTheOriginAnsweredIsTheContent() async throws {
        try await Self.run(
            #"""
            {"kind": "upload", "method": "POST", "idempotent": true, "url": "http://o.example/",
             "upload": {"body": {"base64": "AAEC"}}}
            """#
        ) { server, path, id in
            let claim = try await server.claim()
            #expect(claim.request == TransferRequest(method: "POST", upload: .data([0, 1, 2])))
            #expect(claim.options.isIdempotent == true)
            let result = TransferResult(
                httpStatus: 201,
                bytesReceived: 2,
                fields: KeptFields(of: [("Content-Type", "application/json")]),
                isLengthVerified: true,
                isTruncated: true
            )
            let ended = try await server.stores.completions.end([
                AttemptEnd(
                    task: id,
                    fence: claim.fence,
                    outcome: .answered(result, body: Array("{}".utf8)),
                    bytesSent: 3
                )
            ])
            #expect(ended == [id])
            let task = try await server.send("GET", path).json(TaskDocument.self)
            #expect(task.state == "completed")
            #expect(task.response?.status == 201)
            #expect(task.response?.isTruncated == true)
            #expect(task.countOfBytesSent == 3)
            #expect(task.countOfBytesExpectedToSend == 3)
            let content = try await server.send("GET", try #require(task.content))
            #expect(content.text == "{}")
            #expect(content.fields["content-type"] == "application/json")
        }
    }

    @Test(arguments: [
        (#""kind": "uplod""#, "/kind invalid_value"),
        (#""kind": "upload""#, "/upload required"),
        (#""upload": {"staged": true}"#, "/upload invalid_value"),
        (#""kind": "upload", "upload": {}"#, "/upload invalid_value"),
        (
            #""kind": "upload", "upload": {"staged": true, "body": {"base64": ""}}"#,
            "/upload invalid_value"
        ),
        (#""kind": "upload", "upload": {"path": "../x"}"#, "/upload/path invalid_value"),
        (#""kind": "upload", "upload": {"path": ".transferd/x"}"#, "/upload/path invalid_value"),
        (
            #""kind": "upload", "upload": {"body": {"base64": "*"}}"#,
            "/upload/body/base64 invalid_value"
        ),
        (#""kind": "upload", "upload": {"file": "x"}"#, "/upload/file unknown_field"),
        (#""method": "CONNECT""#, "/method invalid_value"),
        (#""method": "GE T""#, "/method invalid_value"),
        (#""method": """#, "/method invalid_value"),
        (
            #""kind": "upload", "upload": {"staged": true}, "destination": {"path": "x"}"#,
            "/destination invalid_value"
        ),
    ])
    func whatMakesNoSenseIsNamed(fields: String, fault: String) async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let answer = try await server.send(
                "POST",
                "\(session)/tasks",
                #"{"url": "http://o.example/", \#(fields)}"#
            )
            #expect(answer.faults == [fault])
        }
    }
}
