import Curl
import Testing
import TransferTestSupport

/// Transfers that are divided among several loops.
@Suite struct CurlLoopsTests {
    @Test func eachLoopHasAnEqualPartOfAHostsConnections() throws {
        let loops = try CurlLoops(name: "several", count: 3)
        defer { loops.stop() }
        for host in ["a.test", "b.test", "c.test"] {
            let used = (0..<9).map { loops.loop(ofConnection: $0, to: host) }
            let counts = Dictionary(grouping: used, by: ObjectIdentifier.init).mapValues(\.count)
            #expect(counts.values.sorted() == [3, 3, 3])
            #expect(used[0] === loops.loop(to: host))
        }
    }

    @Test func hostsAreDividedToo() throws {
        let loops = try CurlLoops(name: "several", count: 3)
        defer { loops.stop() }
        let used = Set((0..<1000).map { ObjectIdentifier(loops.loop(to: $0)) })
        #expect(used.count == 3)
    }

    @Test func theSameNumberHasTheSameConnection() async throws {
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        let loops = try CurlLoops(name: "several", count: 3)
        defer { loops.stop() }
        origin.when("/", .response(200))
        for number in [0, 0, 1, 2, 1, 0, 2] {
            let request = CurlRequest(url: origin.url("/"), egress: .everywhere)
            let loop = loops.loop(ofConnection: number, to: "origin")
            _ = try await loop.fetch(request, bodyMax: 0)
        }
        #expect(origin.log.now.connectionsAccepted == 3)
    }
}
