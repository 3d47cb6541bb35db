import Foundation
import Glibc
import Testing
import TransferClient
import TransferTestSupport
import TransferWire

/// Uploads that continue after the service was killed.
@Suite(.timeLimit(.minutes(5)), .serialized) struct UploadCrashTests {
    private static let file = OriginBody.random(seed: 76, size: 4_000_000)
    private static let kept = 3_000_000

    @Test(arguments: ResumableOrigin.Dialect.allCases)
    func onlyMissingBytesAreSentAfterAKill(dialect: ResumableOrigin.Dialect) async throws {
        let directory = try DataDirectory()
        let source = try LoopbackOrigin()
        defer { source.stop() }
        source.when("/file", .response(body: Self.file))
        let gate = OriginGate()
        defer { gate.open() }
        let origin = try ResumableOrigin(dialect, [.wait(at: Self.kept, gate)])
        let first = try await ServiceProcess(in: directory)
        var client = try first.client(key: directory.apiKey())
        try await client.makeSession("s")
        let download = TaskRequest(
            target: .url(source.url("/file")),
            destination: DestinationRequest(path: "file", overwrite: false)
        )
        let fetched = try await client.submit([download], toSession: "s")[0].id
        try await eventually("the file is there") {
            try await client.task(fetched).state == "completed"
        }
        let upload = TaskRequest(
            target: .url(origin.url),
            options: OptionMembers(["resumable_upload": .string(dialect.rawValue)]),
            kind: "upload",
            // Sent once more, it would be done once more.
            method: "POST",
            upload: UploadRequest(path: "file")
        )
        let id = try await client.submit([upload], toSession: "s")[0].id
        try await eventually("a part has arrived") { origin.bytesReceived == Self.kept }
        // Its progress is stored each second, and its place has been since long.
        try await eventually("progress is told") {
            try await client.task(id).countOfBytesSent > 0
        }
        #expect(await first.killNow() == 128 + SIGKILL)

        let second = try await ServiceProcess(in: directory)
        client = try second.client(key: directory.apiKey())
        try await eventually("the upload has ended", within: .seconds(60)) {
            try await client.task(id).state == "completed"
        }
        #expect(origin.uploads.count == 1)
        #expect(OriginBody.sha256(of: origin.uploads[0].bytes) == Self.file.sha256)
        #expect(origin.bytesReceived == Self.file.count)
        #expect(try await client.attempts(ofTask: id).map(\.outcome) == ["lost", "completed"])
        #expect(await second.terminate() == 0)
        #expect(try await directory.verify().status == 0)
    }

    /// Neither side is asked for what it has sent or got.
    @Test func aCopyContinuesAfterAKill() async throws {
        let directory = try DataDirectory()
        let source = try LoopbackOrigin()
        defer { source.stop() }
        source.when("/file") { .file(Self.file, etag: #""one""#, for: $0) }
        let gate = OriginGate()
        defer { gate.open() }
        let origin = try ResumableOrigin(.tus, [.wait(at: Self.kept, gate)])
        let first = try await ServiceProcess(in: directory)
        var client = try first.client(key: directory.apiKey())
        try await client.makeSession("s")
        let upload = TaskRequest(
            target: .url(origin.url),
            options: OptionMembers(["resumable_upload": .string("tus")]),
            kind: "upload",
            method: "POST",
            upload: UploadRequest(copy: CopyRequest(url: source.url("/file")))
        )
        let id = try await client.submit([upload], toSession: "s")[0].id
        try await eventually("a part has arrived") { origin.bytesReceived == Self.kept }
        #expect(await first.killNow() == 128 + SIGKILL)

        let second = try await ServiceProcess(in: directory)
        client = try second.client(key: directory.apiKey())
        try await eventually("the copy has ended", within: .seconds(60)) {
            try await client.task(id).state == "completed"
        }
        #expect(origin.uploads.count == 1)
        #expect(OriginBody.sha256(of: origin.uploads[0].bytes) == Self.file.sha256)
        #expect(origin.bytesReceived == Self.file.count)
        let ranges = source.log.now.requests(at: "/file").map { $0["Range"] }
        #expect(ranges == [nil, "bytes=\(Self.kept)-"])
        #expect(await second.terminate() == 0)
        #expect(try await directory.verify().status == 0)
    }
}
