import Crypto
import Foundation
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

/// Files that differ from the task's or the origin's statements.
@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct EngineIntegrityTests {
    private static let body = OriginBody.random(seed: 41, size: 700_000)
    private static let size = body.count

    private static func checksum(_ algorithm: ChecksumAlgorithm) throws -> Checksum {
        let bytes = body.bytes
        switch algorithm {
        case .sha256: return try #require(Checksum(.sha256, bytes: Array(SHA256.hash(data: bytes))))
        case .sha512: return try #require(Checksum(.sha512, bytes: Array(SHA512.hash(data: bytes))))
        case .md5:
            return try #require(Checksum(.md5, bytes: Array(Insecure.MD5.hash(data: bytes))))
        case .crc32c:
            return try #require(Checksum(.crc32c, hex: crc32c))
        }
    }

    /// The checksum, computed bit by bit with the polynomial of RFC 3720 §12.1 reversed.
    private static let crc32c: String = {
        var crc = ~UInt32(0)
        for byte in body.bytes {
            crc ^= UInt32(byte)
            for _ in 0..<8 { crc = crc & 1 == 1 ? crc >> 1 ^ 0x82F6_3B78 : crc >> 1 }
        }
        let hex = String(~crc, radix: 16)
        return String(repeating: "0", count: 8 - hex.count) + hex
    }()

    @Test(arguments: ChecksumAlgorithm.allCases)
    func aRightChecksumIsAccepted(algorithm: ChecksumAlgorithm) async throws {
        let fixture = try await EngineFixture()
        let checksum = try Self.checksum(algorithm)
        let task = try await fixture.download(.response(body: Self.body)) {
            $0.options.checksums = [checksum]
        }
        #expect(task.state == .completed)
        #expect(task.options.checksums == [checksum])
        #expect(task.result?.checksums == [checksum])
        #expect(try fixture.content(task) == Self.body.bytes)
    }

    @Test(arguments: ChecksumAlgorithm.allCases)
    func aWrongChecksumFails(algorithm: ChecksumAlgorithm) async throws {
        let fixture = try await EngineFixture()
        var bytes = try Self.checksum(algorithm).bytes
        bytes[0] ^= 1
        let wrong = try #require(Checksum(algorithm, bytes: bytes))
        let right = try Self.checksum(.sha256)
        let task = try await fixture.download(.response(body: Self.body)) {
            $0.options.checksums = algorithm == .sha256 ? [wrong] : [right, wrong]
        }
        #expect(task.failure?.code == .checksumMismatch)
        #expect(task.failure?.message.contains("\(wrong)") == true)
        #expect(fixture.files().isEmpty)
    }

    @Test func damagedBytesAreFetchedAgainAndNotGoneOnWith() async throws {
        let fixture = try await EngineFixture()
        let damaged = OriginBody.random(seed: 42, size: Self.size)
        fixture.origin.when("/file") { request in
            let body = request.numberAtPath == 1 ? damaged : Self.body
            return .response(headers: [("ETag", "\"1\"")], body: body)
        }
        let checksum = try Self.checksum(.sha256)
        let id = try await fixture.submit(fixture.origin.url("/file")) {
            $0.options.checksums = [checksum]
        }
        let task = try await fixture.withEngine { _ in try await fixture.ended(id) }
        #expect(task.attempt == 2)
        #expect(try fixture.content(task) == Self.body.bytes)
        let requests = fixture.origin.log.now.requests(at: "/file")
        #expect(requests.map { $0["Range"] } == [nil, nil])
        try await fixture.expectNoParts()
    }

    /// This attempt did not hash the front of the file.
    @Test(arguments: [true, false])
    func aFileThatWasGoneOnWithIsCheckedAsAWhole(isRight: Bool) async throws {
        let fixture = try await EngineFixture()
        let front = isRight ? Self.body : OriginBody.random(seed: 43, size: Self.size)
        fixture.origin.when("/file") { request in
            guard request["Range"] == nil else {
                return .file(Self.body, etag: "\"1\"", for: request)
            }
            return OriginScript([
                .head(200, [("ETag", "\"1\""), ("Content-Length", "\(Self.size)")]),
                .body(front, 0..<600_000), .close,
            ])
        }
        let checksum = try Self.checksum(.sha256)
        let id = try await fixture.submit(fixture.origin.url("/file")) {
            $0.options.checksums = [checksum]
            $0.options.attemptsMax = 2
        }
        let task = try await fixture.withEngine { _ in try await fixture.ended(id) }
        #expect(task.attempt == 2)
        #expect(task.failure?.code == (isRight ? nil : .checksumMismatch))
        if isRight { #expect(try fixture.content(task) == Self.body.bytes) }
        try await fixture.expectNoParts()
    }

    @Test(arguments: ["Repr-Digest", "Content-Digest"], [true, false])
    func whatTheOriginSaysIsHeld(field: String, isRight: Bool) async throws {
        let fixture = try await EngineFixture()
        var bytes = try Self.checksum(.sha512).bytes
        if !isRight { bytes[63] ^= 1 }
        let value = "sha-512=:\(Data(bytes).base64EncodedString()):"
        let task = try await fixture.download(
            .response(headers: [(field, value)], body: Self.body)
        )
        #expect(task.failure?.code == (isRight ? nil : .checksumMismatch))
    }

    /// RFC 9110 §9.3.2: what the head says is about the file, of which nothing comes.
    @Test func whatIsAnnouncedToHEADIsNotLookedForInItsEmptyAnswer() async throws {
        let fixture = try await EngineFixture()
        let digest = Data(try Self.checksum(.sha256).bytes).base64EncodedString()
        let head = OriginScript([
            .head(
                200,
                [
                    ("Content-Length", "\(Self.size)"), ("Repr-Digest", "sha-256=:\(digest):"),
                    ("Content-Digest", "sha-256=:\(digest):"),
                ]
            )
        ])
        for expectedSize in [nil, Int64(Self.size)] {
            let task = try await fixture.download(head) {
                $0.request = TransferRequest(kind: .download, method: "HEAD")
                $0.options.expectedSize = expectedSize
            }
            #expect(task.state == .completed, "\(task.failure.debugDescription)")
            #expect(task.bytesReceived == 0)
            #expect(task.result?.fields["content-length"] == "\(Self.size)")
            #expect(task.result?.checksums == [])
        }
        let other = try await fixture.download(head) {
            $0.request = TransferRequest(kind: .download, method: "HEAD")
            $0.options.expectedSize = Int64(Self.size) + 1
        }
        #expect(other.failure?.code == .sizeMismatch)
    }

    @Test func anotherSizeThanExpectedFailsAtOnce() async throws {
        let fixture = try await EngineFixture()
        let task = try await fixture.download(.response(body: Self.body), retries: true) {
            $0.options.expectedSize = Int64(Self.size) + 1
        }
        #expect(task.failure?.code == .sizeMismatch)
        #expect(task.attempt == 1)
        #expect(fixture.files().isEmpty)
    }

    @Test(arguments: [0, 1])
    func aSizeThatOnlyTheEndTellsIsHeldToo(difference: Int64) async throws {
        let fixture = try await EngineFixture()
        let script = OriginScript([
            .head(200, [("Transfer-Encoding", "chunked")]),
            .chunks(Self.body, size: 50_000),
        ])
        let task = try await fixture.download(script) {
            $0.options.expectedSize = Int64(Self.size) + difference
        }
        #expect(task.failure?.code == (difference == 0 ? nil : .sizeMismatch))
    }

    /// Its length is not announced.
    @Test(arguments: [true, false])
    func moreThanExpectedIsNotReceived(isChunked: Bool) async throws {
        let fixture = try await EngineFixture()
        // Far more than sockets hold.
        let body = OriginBody.random(seed: 43, size: 64 << 20)
        let chunked = OriginScript([
            .head(200, [("Transfer-Encoding", "chunked")]),
            .chunks(body, size: 50_000),
        ])
        let task = try await fixture.download(
            isChunked ? chunked : .closeDelimited(body),
            retries: true
        ) {
            $0.options.expectedSize = 1000
        }
        #expect(task.failure?.code == .sizeMismatch)
        #expect(task.attempt == 1)
        #expect(task.bytesReceived <= 1000)
        #expect(await fixture.origin.log.bytesSent(at: "/file") < body.count / 2)
        #expect(fixture.files().isEmpty)
    }

    @Test(arguments: [0, -1])
    func theTasksOwnLimitHolds(difference: Int64) async throws {
        let fixture = try await EngineFixture()
        let task = try await fixture.download(.response(body: Self.body)) {
            $0.options.sizeMax = Int64(Self.size) + difference
        }
        #expect(task.failure?.code == (difference == 0 ? nil : .fileTooLarge))
    }

    /// A redirect, an error that passes and one that does not.
    @Test(arguments: [302, 503, 404])
    func theTasksOwnLimitIsThatOfTheFile(status: Int) async throws {
        let fixture = try await EngineFixture()
        let file = OriginScript.response(body: .text("0123456789"))
        fixture.origin.when("/small", file)
        fixture.origin.when("/file") { request in
            guard request.numberAtPath == 1 else { return file }
            return .response(
                status,
                headers: [("Location", "/small")],
                body: .random(seed: 41, size: 3000)
            )
        }
        let id = try await fixture.submit(fixture.origin.url("/file")) {
            $0.options.sizeMax = 100
            $0.options.retryDelayBase = .milliseconds(100)
        }
        let task = try await fixture.withEngine { _ in try await fixture.ended(id) }
        guard status != 404 else {
            #expect(task.failure?.code == .httpStatus)
            #expect(task.failure?.httpStatus == 404)
            return
        }
        #expect(task.state == .completed)
        #expect(try fixture.content(task) == Array("0123456789".utf8))
    }
}

/// The options of sessions and tasks for their transfer.
@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct EngineOptionsTests {
    private static let body = OriginBody.text("no such file")

    @Test func theBeginOfAnErrorsBodyIsKept() async throws {
        let fixture = try await EngineFixture()
        let long = OriginBody.random(seed: 1, size: 5000)
        let task = try await fixture.download(.response(404, body: long))
        #expect(task.failure?.responseBody == long.bytes(in: 0..<2048))
        let other = try await fixture.download(.response(404, body: Self.body))
        #expect(other.failure?.responseBody == Self.body.bytes)
        let none = try await fixture.download(.response(404))
        #expect(none.failure?.responseBody == nil)
    }

    @Test(arguments: [404, 500, 302])
    func anErrorIsTheResultWhereThatIsWanted(status: Int) async throws {
        let fixture = try await EngineFixture()
        let task = try await fixture.download(.response(status, body: Self.body)) {
            $0.options.deliversHTTPErrors = true
            $0.options.expectedSize = 1
            $0.options.checksums = [Checksum(.crc32c, hex: "00000000")].compactMap(\.self)
        }
        #expect(task.state == .completed)
        #expect(task.result?.httpStatus == status)
        #expect(try fixture.content(task) == Self.body.bytes)
    }

    /// 304 says that the client has the file.
    @Test func whatIsUnchangedIsNotReplacedByNothing() async throws {
        let fixture = try await EngineFixture()
        try fixture.place(Self.body.bytes, at: "mine")
        let tag = [HTTPHeader(name: "If-None-Match", value: #""v1""#)]
        let failed = try await fixture.download(.response(304)) {
            $0.headers = tag
            $0.destination = Destination(path: "mine", overwrite: true)
            $0.options.deliversHTTPErrors = true
        }
        #expect(failed.state == .failed)
        #expect(failed.failure?.httpStatus == 304)
        #expect(try fixture.content("mine") == Self.body.bytes)
        let delivered = try await fixture.download(.response(304)) {
            $0.headers = tag
            $0.options.deliversHTTPErrors = true
        }
        #expect(delivered.state == .completed)
        #expect(delivered.result?.httpStatus == 304)
    }

    @Test func aRedirectIsFollowedAllTheSame() async throws {
        let fixture = try await EngineFixture()
        fixture.origin.when("/there", .response(body: Self.body))
        let task = try await fixture.download(.redirect(to: "/there")) {
            $0.options.deliversHTTPErrors = true
        }
        #expect(task.result?.httpStatus == 200)
        #expect(task.result?.finalURL == fixture.origin.url("/there"))
    }

    @Test func redirectsAreFollowedAsOftenAsTheTaskAllows() async throws {
        let fixture = try await EngineFixture()
        fixture.origin.when("/there", .response(body: Self.body))
        let refused = try await fixture.download(.redirect(to: "/there")) {
            $0.options.redirectsMax = 0
        }
        #expect(refused.failure?.code == .badRedirect)
        let delivered = try await fixture.download(.redirect(to: "/there")) {
            $0.options.redirectsMax = 0
            $0.options.deliversHTTPErrors = true
        }
        #expect(delivered.result?.httpStatus == 302)
    }

    @Test func aTasksRetriesWinOverItsSessions() async throws {
        let fixture = try await EngineFixture()
        var configuration = SessionConfiguration()
        configuration.options.attemptsMax = 2
        configuration.options.retryDelayBase = .milliseconds(1)
        configuration.options.retryDelayMax = .milliseconds(1)
        try await fixture.putSession(configuration)
        let bySession = try await fixture.download(.response(503), retries: true)
        #expect(bySession.attempt == 2)
        let byTask = try await fixture.download(.response(503), retries: true) {
            $0.options.attemptsMax = 4
        }
        #expect(byTask.attempt == 4)
    }

    @Test func theTimeForATaskRunsOverAllAttempts() async throws {
        let fixture = try await EngineFixture()
        let task = try await fixture.download(.response(503), retries: true) {
            $0.options.attemptsMax = 100
            $0.options.timeoutForResource = .seconds(8)
            $0.options.retryDelayBase = .seconds(2)
            $0.options.retryDelayMax = .seconds(2)
        }
        // The last attempt may have been cut off by the same time limit.
        #expect([.httpStatus, .timedOut].contains(task.failure?.code))
        // A wait is at least half of its bound.
        #expect((2...9).contains(task.attempt))
    }

    @Test func aTasksTimeoutWinsOverItsSessions() async throws {
        let fixture = try await EngineFixture()
        let stalled = OriginScript.gated(Self.body, after: 3, OriginGate())
        let task = try await fixture.download(stalled) {
            $0.options.timeoutForRequest = .milliseconds(100)
        }
        #expect(task.failure?.code == .timedOut)
    }
}
