import ChildProcess
import Foundation
import Glibc
import Testing
import TransferClient
import TransferTestSupport
import TransferWire

/// What happens to a program that downloads an album.
enum AlbumStory {
    static let count = 100

    private static func body(_ index: Int) -> OriginBody {
        .random(seed: UInt64(index) + 1, size: 1000 + index)
    }

    /// Serves half of the files at once, and the others once `gate` opens.
    static func serve(_ origin: LoopbackOrigin, _ gate: OriginGate) {
        for index in 0..<count {
            origin.when(
                "/\(index)",
                index % 2 == 0
                    ? .response(body: body(index))
                    : .gated(body(index), after: 10, gate)
            )
        }
    }

    /// Kills the program in the middle of its work, starts it again, and has every file arrive
    /// whole after one request.
    static func survives(_ program: String) async throws {
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        let gate = OriginGate()
        serve(origin, gate)
        let stage = try await AlbumStage(
            urls: (0..<count).map { origin.url("/\($0)") },
            program: program
        )
        let first = try stage.start()
        try await eventually("a part of the files has arrived") {
            try stage.arrived().count >= 10
        }
        let http = try HTTPClient(stage.service, key: stage.directory.apiKey())
        let removal = #"method="DELETE",route="/v1/tasks/{id}",status="204""#
        // A file is there before its task is removed.
        try await eventually("a task has been removed") {
            try await http.send("GET", "/metrics").text.contains(removal)
        }
        first.process.signal(SIGKILL)
        _ = await first.process.status()
        #expect(try first.lines().prefix(2) == ["taken over: 0", "followed: \(count)"])
        #expect(try stage.arrived().count <= count / 2)

        let second = try stage.start()
        defer { second.process.kill() }
        try await eventually("the second process follows what is left") {
            try second.lines().count >= 2
        }
        // Every task that was not dealt with is there, and none is submitted again.
        let taken = try second.number(0, "taken over: ")
        #expect(taken >= count / 2 && taken < count)
        #expect(try second.number(1, "followed: ") == taken)
        gate.open()
        let status = await second.process.status()
        let errors = try second.errors()
        #expect(status == 0, "\(errors)")
        #expect(try stage.arrived() == Set((0..<count).map(String.init)))
        for index in 0..<count {
            #expect(try stage.bytes("\(index)") == body(index).bytes, "file \(index)")
            #expect(origin.log.now.requests(at: "/\(index)").count == 1, "file \(index)")
        }
        let client = try stage.service.client(key: stage.directory.apiKey())
        #expect(try await client.tasks(ofSession: "album").items.isEmpty)
        #expect(await stage.service.terminate() == 0)
    }
}
