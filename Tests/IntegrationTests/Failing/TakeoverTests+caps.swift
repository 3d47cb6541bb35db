import Testing
import TransferClient
import TransferTestSupport

extension TakeoverTests {
    @Test func theCapOnConnectionsToAHostIsThatOfAllInstancesTogether() async throws {
        let directory = try DataDirectory()
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        let (cap, count) = (3, 12)
        let gates = (0..<count).map { _ in OriginGate() }
        let front = try await ServiceProcess(in: directory, ["--roles", "api"])
        let workers = ["--roles", "worker,webhooks", "--connections-per-host", "\(cap)"]
        let first = try await ServiceProcess(in: directory, workers)
        let second = try await ServiceProcess(in: directory, workers)
        let client = try front.client(key: directory.apiKey())
        let work = try await submit(
            count,
            size: 40_000,
            kept: 20_000,
            origin,
            gates[0],
            gates: gates,
            over: client
        )
        // One after the other may end; all others that have come are open together.
        for ended in 0..<count {
            await origin.log.arrived(min(ended + cap, count))
            let requests = origin.log.now.requests
            #expect(requests.count <= ended + cap)
            let next = try #require(requests.dropFirst(ended).first)
            let number = try #require(Int(next.path.dropFirst()))
            gates[number].open()
        }
        try await work.check(directory)
        for service in [first, second, front] { #expect(await service.terminate() == 0) }
        #expect(try await directory.verify().status == 0)
    }
}
