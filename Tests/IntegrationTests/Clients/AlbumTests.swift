import ChildProcess
import Foundation
import Glibc
import Testing
import TransferTestSupport
import TransferWire

/// The example of `Examples/Album`, killed in the middle of its work and started again.
@Suite(.timeLimit(.minutes(5))) struct AlbumTests {
    private static let count = 100

    private static func body(_ index: Int) -> OriginBody {
        .random(seed: UInt64(index) + 1, size: 1000 + index)
    }

    /// Serves half of the files at once, and the others once `gate` opens.
    private static func serve(_ origin: LoopbackOrigin, _ gate: OriginGate) {
        for index in 0..<count {
            origin.when(
                "/\(index)",
                index % 2 == 0
                    ? .response(body: body(index))
                    : .gated(body(index), after: 10, gate)
            )
        }
    }

    @Test func continuesWithWhatAKilledProcessHadSubmitted() async throws {
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        let gate = OriginGate()
        Self.serve(origin, gate)
        let stage = try await AlbumStage(urls: (0..<Self.count).map { origin.url("/\($0)") })
        let first = try stage.start()
        try await eventually("a part of the files has arrived") {
            try stage.arrived().count >= 10
        }
        first.process.signal(SIGKILL)
        _ = await first.process.status()
        #expect(try first.lines().prefix(2) == ["taken over: 0", "followed: \(Self.count)"])
        #expect(try stage.arrived().count <= Self.count / 2)

        let second = try stage.start()
        defer { second.process.kill() }
        try await eventually("the second process follows what is left") {
            try second.lines().count >= 2
        }
        // Every task that was not dealt with is there, and none is submitted again.
        let taken = try second.number(0, "taken over: ")
        #expect(taken >= Self.count / 2 && taken < Self.count)
        #expect(try second.number(1, "followed: ") == taken)
        gate.open()
        let status = await second.process.status()
        let errors = try second.errors()
        #expect(status == 0, "\(errors)")
        #expect(try stage.arrived() == Set((0..<Self.count).map(String.init)))
        for index in 0..<Self.count {
            #expect(try stage.bytes("\(index)") == Self.body(index).bytes, "file \(index)")
            #expect(origin.log.now.requests(at: "/\(index)").count == 1, "file \(index)")
        }
        let client = try APIClient(stage.service, key: try stage.directory.apiKey())
        let rest: Page<TaskDocument> = try await client.get("/v1/sessions/album/tasks")
        #expect(rest.items.isEmpty)
        #expect(await stage.service.terminate() == 0)
    }

    @Test func leavesItsTasksToOthersOnlyOnceItsLeaseHasEnded() async throws {
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        let gate = OriginGate()
        Self.serve(origin, gate)
        let stage = try await AlbumStage(urls: (0..<Self.count).map { origin.url("/\($0)") })
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
        #expect(try second.number(0, "taken over: ") >= Self.count / 2)
        let client = try APIClient(stage.service, key: try stage.directory.apiKey())
        try await eventually("the tasks are free again") {
            let path = "/v1/sessions/album/reconnect"
            let answer = try await client.send("POST", path, #"{"lease_seconds": 1}"#)
            let document = try JSONDecoder().decode(
                ReconnectionDocument.self,
                from: Data(answer.body)
            )
            return document.items.count >= Self.count / 2
        }
        #expect(await stage.service.terminate() == 0)
    }
}
