import ChildProcess
import Foundation
import Glibc
import Testing
import TransferClient
import TransferTestSupport
import TransferWire

/// The example of `Examples/Album`, killed in the middle of its work and started again.
@Suite(.timeLimit(.minutes(5))) struct AlbumTests {
    @Test func continuesWithWhatAKilledProcessHadSubmitted() async throws {
        try await AlbumStory.survives(AlbumStage.program)
    }

    @Test func leavesItsTasksToOthersOnlyOnceItsLeaseHasEnded() async throws {
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        let gate = OriginGate()
        AlbumStory.serve(origin, gate)
        let stage = try await AlbumStage(
            urls: (0..<AlbumStory.count).map { origin.url("/\($0)") }
        )
        let first = try stage.start()
        try await eventually("a part of the files has arrived") {
            try stage.arrived().count >= 10
        }
        first.process.signal(SIGKILL)
        _ = await first.process.status()
        let second = try stage.start(lease: 1)
        try await eventually("the second process follows what is left") {
            try second.lines().count >= 2
        }
        second.process.signal(SIGKILL)
        _ = await second.process.status()
        #expect(try second.number(0, "taken over: ") >= AlbumStory.count / 2)
        var configuration = TransferSessionConfiguration.background(withIdentifier: "album")
        configuration.leaseDuration = .seconds(1)
        let session = TransferSession(
            configuration: configuration,
            service: try stage.service.client(key: stage.directory.apiKey())
        )
        try await eventually("the tasks are free again") {
            try await session.reconnect().count >= AlbumStory.count / 2
        }
        try await session.close()
        #expect(await stage.service.terminate() == 0)
    }

    @Test func knowsAFileWhoseTaskIsRemovedOnlyAfterItsProcessWasKilled() async throws {
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        let gate = OriginGate()
        gate.open()
        AlbumStory.serve(origin, gate)
        let urls = (0..<AlbumStory.count).map { origin.url("/\($0)") }
        let stage = try await AlbumStage(urls: urls)
        let service = try stage.service.client(key: stage.directory.apiKey())
        let session = TransferSession(
            configuration: .background(withIdentifier: "album"),
            service: service
        )
        let tasks = urls.map { url in
            let task = session.downloadTask(with: url)
            task.taskDescription = url
            task.resume()
            return task
        }
        for task in tasks { _ = try await task.result() }
        for index in 0..<AlbumStory.count { try stage.place([1], at: "\(index)") }
        try await session.close()

        let pipe = try FullPipe()
        let run = try stage.start(writingTo: pipe)
        defer { run.process.kill() }
        // It has the tasks then, and has not asked for their results.
        try await eventually("the program waits at its first line") {
            try FullPipe.holds(run.process.pid)
        }
        for task in tasks { try await task.remove() }
        pipe.empty()
        let status = await run.process.status()
        let errors = try run.errors()
        #expect(status == 0, "\(errors)")
        for index in 0..<AlbumStory.count { #expect(try stage.bytes("\(index)") == [1]) }
        #expect(await stage.service.terminate() == 0)
    }
}
