import Foundation
import Testing
import TransferClient
import TransferTestSupport
import TransferWire

/// What becomes of small results when their pack cannot be flushed, or its process is killed.
@Suite(.timeLimit(.minutes(4))) struct PackTests {
    private static func body(_ index: Int) -> OriginBody {
        .random(seed: UInt64(index % 7), size: 1000 + index % 7 * 100)
    }

    private func requests(_ indices: Range<Int>, _ origin: LoopbackOrigin) -> [TaskRequest] {
        indices.map { index in
            origin.when("/\(index)", .response(body: Self.body(index)))
            return TaskRequest(target: .url(origin.url("/\(index)")))
        }
    }

    @Test func aFlushThatFailsMakesNoResult() async throws {
        let directory = try DataDirectory()
        let library = try await PreloadedLibrary("flush")
        let word = library.file("fail")
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        let service = try await ServiceProcess(
            in: directory,
            environment: ["LD_PRELOAD": library.path, "FAILING_FLUSH": word]
        )
        let client = try service.client(key: directory.apiKey())
        try await client.makeSession("s")
        var ids = try await client.submit(requests(0..<1, origin), toSession: "s").map(\.id)
        try await eventually("the first has ended") {
            try await client.session("s").outstanding == 0
        }
        try Data().write(to: URL(filePath: word))
        ids += try await client.submit(requests(1..<31, origin), toSession: "s").map(\.id)
        try await eventually("the others have ended, too", within: .seconds(60)) {
            try await client.session("s").outstanding == 0
        }
        #expect(!FileManager.default.fileExists(atPath: word), "a flush has failed")
        let tasks = try await client.tasks(ofSession: "s", states: ["completed"]).items
        #expect(tasks.count == 31)
        // What was to be flushed was fetched again.
        #expect(origin.log.now.requests.count > 31)
        #expect(await service.terminate() == 0)
        #expect(try await directory.verify().status == 0)
        #expect(try directory.holdsOnlyResults(ids))
    }

    /// Whatever the process was doing: it wrote results, flushed them, or was about to tell of
    /// them.
    @Test(arguments: [50, 150, 400])
    func killedProcessesLoseNoResultAndLeaveNone(killedAfter: Int) async throws {
        let directory = try DataDirectory()
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        let first = try await ServiceProcess(in: directory)
        var client = try first.client(key: directory.apiKey())
        try await client.makeSession("s")
        let ids = try await client.submit(requests(0..<600, origin), toSession: "s").map(\.id)
        try await eventually("some have been requested") {
            origin.log.now.requests.count >= killedAfter
        }
        _ = await first.killNow()
        let second = try await ServiceProcess(in: directory)
        client = try second.client(key: directory.apiKey())
        try await eventually("all have ended", within: .seconds(60)) {
            try await client.session("s").outstanding == 0
        }
        #expect(try await client.session("s").taskCounts["completed"] == 600)
        // What was written and not told of is nobody's, and goes with the attempt that wrote it.
        try await eventually("nothing of nobody is left", within: .seconds(20)) {
            try directory.holdsOnlyResults(ids)
        }
        #expect(await second.terminate() == 0)
        #expect(try await directory.verify().status == 0)
        #expect(try directory.holdsOnlyResults(ids))
    }

    /// While its writer lives, a pack stays when its last result goes.
    @Test func aKilledProcessLeavesNoEmptyPack() async throws {
        let directory = try DataDirectory()
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        let first = try await ServiceProcess(in: directory)
        let client = try first.client(key: directory.apiKey())
        try await client.makeSession("s", SessionRequest(kind: "ephemeral"))
        _ = try await client.submit(requests(0..<3, origin), toSession: "s")
        try await eventually("all have ended") {
            try await client.session("s").outstanding == 0
        }
        #expect(try directory.emptyPacks().isEmpty)
        try await client.invalidateSession("s")
        try await eventually("the results are gone") { try directory.files().isEmpty }
        _ = await first.killNow()
        #expect(try directory.emptyPacks().count == 1)
        let second = try await ServiceProcess(in: directory)
        // Looking at it takes its lock for a moment; who finds it locked comes again within a
        // minute.
        try await eventually("the pack is gone", within: .seconds(90)) {
            try directory.emptyPacks().isEmpty
        }
        #expect(await second.terminate() == 0)
    }
}
