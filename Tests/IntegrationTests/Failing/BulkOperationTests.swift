import Foundation
import Glibc
import Synchronization
import Testing
import TransferClient
import TransferTestSupport
import TransferWire

/// A bulk operation of several pages, whose instance is killed.
@Suite(.timeLimit(.minutes(5))) struct BulkOperationTests {
    private static let tasksInAll = 3000

    @Test func anotherProcessGoesOnWithARetryOfThousands() async throws {
        let directory = try DataDirectory()
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        let isMended = Mutex(false)
        origin.when("/file") { _ in .response(isMended.withLock(\.self) ? 200 : 404) }
        let options = ["--connections-per-host", "64"]
        let first = try await ServiceProcess(in: directory, options)
        var client = try first.client(key: directory.apiKey())
        try await client.makeSession("s")
        for _ in 0..<Self.tasksInAll / 1000 {
            _ = try await client.submit(Array(repeating: origin.url("/file"), count: 1000), to: "s")
        }
        try await eventually("all have failed", within: .seconds(120)) {
            try await client.session("s").failed
                == Int64(Self.tasksInAll)
        }
        isMended.withLock { $0 = true }
        let id = try await client.control(
            BulkOperationRequest(verb: "retry"),
            tasksOfSession: "s"
        ).id
        #expect(await first.killNow() == 128 + SIGKILL)

        let second = try await ServiceProcess(in: directory, options)
        client = try second.client(key: directory.apiKey())
        try await eventually("it has come to all tasks", within: .seconds(120)) {
            try await client.bulkOperation(id).state == "completed"
        }
        let operation = try await client.bulkOperation(id)
        #expect(operation.tasksMatching == Int64(Self.tasksInAll))
        #expect(operation.tasksChanged == Int64(Self.tasksInAll))
        try await eventually("all are completed", within: .seconds(120)) {
            try await client.session("s").completed
                == Int64(Self.tasksInAll)
        }
        let retried = try await client.events(of: "s").filter { $0.type == "task.retried" }
        #expect(retried.count == Self.tasksInAll)
        #expect(Set(retried.map(\.data.task?.id)).count == Self.tasksInAll)
        #expect(await second.terminate() == 0)
    }
}
