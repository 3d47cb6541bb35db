import Foundation
import Testing
import TransferClient
import TransferTestSupport
import TransferWire

/// `transferd pause` and `transferd resume` beside running instances.
@Suite(.timeLimit(.minutes(5))) struct PauseCommandTests {
    @Test func nothingBeginsOnAnyInstanceUntilItIsResumed() async throws {
        let directory = try DataDirectory()
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        let body = OriginBody.random(seed: 1, size: 1000)
        origin.when("/file") { .file(body, etag: "\"1\"", for: $0) }
        var services = [try await ServiceProcess(in: directory)]
        let client = try services[0].client(key: directory.apiKey())
        try await client.makeSession("s")
        let pause = try await Program.run(["pause"] + directory.options)
        #expect(pause.status == 0)
        let id = try await client.submit([origin.url("/file")], to: "s")[0]
        // A second instance, and a restart of the first.
        services.append(try await ServiceProcess(in: directory, ["--poll-interval", "1"]))
        #expect(await services[0].terminate() == 0)
        let second = try services[1].client(key: directory.apiKey())
        try await eventually("health says so") {
            let health = try await second.health()
            return health.pauses.everything && health.status == "warn"
        }
        let task = try await second.task(id)
        #expect(task.state == "queued")
        #expect(task.waitsFor == "paused")
        let list = try await Program.run(["pause", "--list"] + directory.options)
        #expect(list.output.hasSuffix("\toperator\t-\t-\n"))
        // Another scope is not paused.
        for command in [["pause", "--host"], ["hosts", "limit"]] {
            let ofURL = command + ["https://files.example:443"] + directory.options
            #expect(try await Program.run(ofURL).status != 0)
        }
        let other = ["resume", "--host", "files.example:443"]
        #expect(try await Program.run(other + directory.options).status != 0)
        #expect(origin.log.now.requests.isEmpty)
        #expect(try await Program.run(["resume"] + directory.options).status == 0)
        try await eventually("the task is completed") {
            try await second.task(id).state == "completed"
        }
        #expect(try await Program.run(["resume"] + directory.options).status != 0)
        #expect(await services[1].terminate() == 0)
    }
}
