import ChildProcess
import Foundation
import Glibc
import Testing
import TransferHTTP
import TransferTestSupport

@testable import transferd

/// How clients, probes and transfers share a low limit of descriptors.
@Suite(.timeLimit(.minutes(3))) struct DescriptorLimitTests {
    @Test func strangersLeaveDescriptorsToTheProbes() async throws {
        let directory = try DataDirectory()
        let log = try directory.log()
        let held = try HeldPort()
        defer { withExtendedLifetime(held) {} }
        let count = 300 + 3 * ProcessInfo.processInfo.activeProcessorCount
        let process = try ChildProcess(
            "/bin/sh",
            ["-c", #"ulimit -n "$0" && exec "$@""#, "\(count)", Program.path]
                + ["serve", "--port", "\(held.number)", "--transfer-threads", "1"]
                + directory.options,
            environment: Program.environment,
            errors: .overwriting(log)
        )
        defer { process.kill() }
        let probe = HTTPClient(port: Int(held.number), key: "none")
        try await eventually("it is ready") { await probe.status("GET", "/readyz") == 200 }
        var silent: [Int32] = []
        defer { for descriptor in silent { close(descriptor) } }
        for number in 1...count {
            silent.append(try HTTPClient.connect(Int(held.number)))
            // Those that had to go for others are gone by its answer.
            if number % 50 == 0 { #expect(await probe.status("GET", "/readyz") == 200) }
        }
        process.signal(SIGTERM)
        #expect(await process.status() == 0)
        let text = try String(contentsOfFile: log, encoding: .utf8)
        #expect(text.contains("too few descriptors for the connections"))
        // The probes would have been answered all the same, once the silent ones had timed out.
        #expect(!text.contains("connections not accepted"))
        withExtendedLifetime(directory) {}
    }

    @Test func transfersHaveTheirsOrHalf() {
        func connections(_ count: Int, _ transfers: Int) -> Int {
            DescriptorLimit(count: count).connectionsMax(beside: transfers, transferThreads: 1)
        }
        #expect(connections(100_000, 0) - connections(100_000, 256) == 512)
        #expect(connections(100_000, 100_000) == connections(100_000, 0) / 2)
        #expect(connections(1, 256) == ConnectionBounds.maxRange.lowerBound)
    }

    @Test func oneAddressKeepsItsShare() {
        let some = ConnectionBounds(max: 400).limited(to: 100)
        #expect((some.max, some.perAddressMax, some.withoutKeyMax) == (100, 75, 50))
        let all = ConnectionBounds(max: 400, perAddressMax: 400)
        #expect(all.limited(to: 100).perAddressMax == 100)
        #expect(all.limited(to: 500).max == 400)
    }
}
