import Foundation
import Glibc
import Testing
import TransferClient
import TransferTestSupport
import TransferWire

/// Downloads with mirrors that go on after the service was killed.
@Suite(.timeLimit(.minutes(5)), .serialized) struct MirrorCrashTests {
    private static let file = OriginBody.random(seed: 79, size: 4_000_000)
    private static let cut = 3_000_000
    private static let etag = #""v1""#

    @Test func aTaskGoesOnAtTheMirrorToWhichItHadCome() async throws {
        let directory = try DataDirectory()
        let (source, mirror) = (try LoopbackOrigin(), try LoopbackOrigin())
        defer {
            source.stop()
            mirror.stop()
        }
        let (told, gate) = (OriginGate(), OriginGate())
        source.when(
            "/file",
            OriginScript([
                .head(200, [("ETag", Self.etag), ("Content-Length", "\(Self.file.count)")]),
                // A reset throws away what the service has not read yet.
                .body(Self.file, 0..<Self.cut), .wait(told), .reset,
            ])
        )
        defer { gate.open() }
        mirror.when("/file") { request in
            request.numberAtPath == 1
                ? OriginScript([.wait(gate)]) : .file(Self.file, etag: Self.etag, for: request)
        }
        let first = try await ServiceProcess(in: directory)
        var client = try first.client(key: directory.apiKey())
        try await client.makeSession("s")
        let download = TaskRequest(
            target: .url(source.url("/file")),
            options: OptionMembers(["mirrors": .array([.string(mirror.url("/file?canary-5f1c"))])])
        )
        let id = try await client.submit([download], toSession: "s")[0].id
        try await eventually("the service has all bytes of the source") {
            try await client.task(id).countOfBytesReceived == Int64(Self.cut)
        }
        told.open()
        await mirror.log.arrived(1, at: "/file")
        #expect(await first.killNow() == 128 + SIGKILL)

        let second = try await ServiceProcess(in: directory)
        client = try second.client(key: directory.apiKey())
        try await eventually("the download has ended", within: .seconds(60)) {
            try await client.task(id).state == "completed"
        }
        let task = try await client.task(id)
        #expect(task.url == source.url("/file"))
        #expect(task.mirrors == [mirror.url("/file?canary-5f1c")])
        #expect(
            task.originalRequest?.options.values["mirrors"]
                == .array([.string(mirror.url("/file?canary-5f1c"))])
        )
        #expect(task.response?.finalURL == mirror.url("/file"))
        // Each byte was sent once, and the origin that broke off was not asked again.
        #expect(source.log.now.requests(at: "/file").count == 1)
        #expect(mirror.log.now.requests(at: "/file").last?["Range"] == "bytes=\(Self.cut)-")
        #expect(mirror.log.now.bytesSent["/file"] == Self.file.count - Self.cut)
        #expect(
            try await client.attempts(ofTask: id).map(\.outcome) == [
                "retried", "lost", "completed",
            ]
        )
        #expect(await second.terminate() == 0)
        #expect(try await directory.verify().status == 0)
    }
}
