import Testing
import TransferClient
import TransferTestSupport

extension TakeoverTests {
    @Test func theCapOnConnectionsToAHostIsThatOfAllInstancesTogether() async throws {
        let directory = try DataDirectory()
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        let gate = OriginGate()
        let front = try await ServiceProcess(in: directory, ["--roles", "api"])
        let workers = ["--roles", "worker,webhooks", "--connections-per-host", "3"]
        let first = try await ServiceProcess(in: directory, workers)
        let second = try await ServiceProcess(in: directory, workers)
        let client = try front.client(key: directory.apiKey())
        let work = try await submit(12, size: 40_000, kept: 20_000, origin, gate, over: client)
        await origin.log.arrived(3)
        gate.open()
        try await work.check(directory)
        #expect(origin.log.now.requestsOpenPeak == 3)
        for service in [first, second, front] { #expect(await service.terminate() == 0) }
        #expect(try await directory.verify().status == 0)
    }
}
