import Curl
import Foundation
import Synchronization
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

@testable import TransferEngine

/// Hosts that are overloaded, or cannot be reached, and the reports about them.
@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct EngineHostTests {
    private static let body = OriginBody.text("well again")

    private func known(_ fixture: EngineFixture, _ port: UInt16) async throws -> RemoteHost? {
        let hostKey = HostKey(host: "127.0.0.1", port: Int(port))
        return try await fixture.stores.hosts.host(hostKey, tenant: fixture.tenant)
    }

    @Test func aHostThatHasTooMuchToDoIsGivenLess() async throws {
        let fixture = try await EngineFixture()
        let refusals = Mutex(4)
        fixture.origin.when("/file") { _ in
            let isRefused = refusals.withLock { rest in
                rest -= 1
                return rest >= 0
            }
            return isRefused ? .response(503) : .response(body: Self.body)
        }
        var ids: [TaskID] = []
        for _ in 0..<40 { ids.append(try await fixture.submit(fixture.origin.url("/file"))) }
        try await fixture.withEngine { [ids] _ in
            try await fixture.expectCompletion(ids)
            try await eventually("it is told") {
                try await known(fixture, fixture.origin.port)?.decisions.isEmpty == false
            }
        }
        let host = try #require(try await known(fixture, fixture.origin.port))
        #expect(host.name == "127.0.0.1:\(fixture.origin.port)")
        #expect(host.decisions.last?.before == 6)
        #expect(host.decisions.last?.after == 3)
        #expect(host.decisions.last?.reason == "Halved, because it answered 503.")
        // The limit that it reaches again depends on how many run at once; each step is reported.
        for (newer, older) in zip(host.decisions, host.decisions.dropFirst()) {
            #expect(newer.before == older.after)
        }
    }

    @Test func anotherWorkerGoesOnWithWhatWasFoundOut() async throws {
        let fixture = try await EngineFixture()
        let gate = OriginGate()
        fixture.origin.when("/busy", .response(503))
        fixture.origin.when("/file", .gated(Self.body, after: 1, gate))
        let busy = try await fixture.submit(fixture.origin.url("/busy")) {
            $0.options.attemptsMax = 1
        }
        try await fixture.withEngine { _ in
            #expect(try await fixture.ended(busy).state == .failed)
            try await eventually("it is told") {
                try await known(fixture, fixture.origin.port)?.connections == 3
            }
        }
        var ids: [TaskID] = []
        for _ in 0..<6 { ids.append(try await fixture.submit(fixture.origin.url("/file"))) }
        try await fixture.withEngine { [ids] _ in
            await fixture.origin.log.arrived(3, at: "/file")
            gate.open()
            try await fixture.expectCompletion(ids)
        }
        #expect(fixture.origin.log.now.requestsOpenPeak == 3)
    }

    @Test func whatAnOperatorAllowsHoldsAtOnce() async throws {
        let fixture = try await EngineFixture()
        let gate = OriginGate()
        fixture.origin.when("/file", .gated(Self.body, after: 1, gate))
        let hostKey = HostKey(host: "127.0.0.1", port: Int(fixture.origin.port))
        @Sendable func allow(_ connections: Int?) async throws {
            let name = "127.0.0.1:\(fixture.origin.port)"
            let isSet = try await fixture.stores.hosts.limitHost(
                hostKey,
                name: name,
                maxConnections: connections
            )
            #expect(isSet)
        }
        try await allow(2)
        var ids: [TaskID] = []
        for _ in 0..<12 { ids.append(try await fixture.submit(fixture.origin.url("/file"))) }
        try await fixture.withEngine { [ids] _ in
            await fixture.origin.log.arrived(2, at: "/file")
            #expect(fixture.origin.log.now.requestsOpenPeak == 2)
            try await allow(9)
            await fixture.origin.log.arrived(9, at: "/file")
            gate.open()
            try await fixture.expectCompletion(ids)
        }
        #expect(fixture.origin.log.now.requestsOpenPeak == 9)
    }

    /// Neither another host, to which it redirects, nor a task that is in a hurry throttles it.
    @Test func aHostIsNotBlamedForWhatOthersDo() async throws {
        let fixture = try await EngineFixture()
        let gone = try HeldPort()
        defer { withExtendedLifetime(gone) {} }
        let other = try LoopbackOrigin()
        defer { other.stop() }
        let gate = OriginGate()
        defer { gate.open() }
        other.when("/busy", .response(503))
        fixture.origin.when("/gone", .redirect(to: "http://127.0.0.1:\(gone.number)/"))
        fixture.origin.when("/other", .redirect(to: other.url("/busy")))
        fixture.origin.when("/slow", .gated(Self.body, after: 1, gate))
        fixture.origin.when("/silent", OriginScript([.wait(gate), .close]))
        fixture.origin.when("/busy", .response(503))
        var ids: [TaskID] = []
        let paths = ["/gone", "/gone", "/gone", "/gone", "/other", "/slow", "/slow", "/silent"]
        for path in paths {
            let id = try await fixture.submit(fixture.origin.url(path)) {
                $0.options.attemptsMax = 1
                $0.options.deliversHTTPErrors = path == "/other"
                if path == "/slow" { $0.options.timeoutForRequest = .milliseconds(100) }
                if path == "/silent" { $0.options.timeoutForFirstByte = .milliseconds(100) }
            }
            ids.append(id)
        }
        try await fixture.withEngine {
            $0.connectivity.failuresMin = 2
            $0.connectivity.silenceMin = .zero
        } _: { [ids] _ in
            var codes: [TransferFailure.Code?] = []
            for id in ids { codes.append(try await fixture.ended(id).failure?.code) }
            #expect(codes[..<4].allSatisfy { $0 == .couldNotConnect })
            #expect(codes[4...] == [nil, .timedOut, .timedOut, .timedOut])
            // Its own answers count.
            let busy = try await fixture.submit(fixture.origin.url("/busy")) {
                $0.options.attemptsMax = 1
            }
            #expect(try await fixture.ended(busy).state == .failed)
            try await eventually("it is told") {
                try await known(fixture, fixture.origin.port)?.connections == 3
            }
        }
        let host = try #require(try await known(fixture, fixture.origin.port))
        #expect(host.decisions.map(\.reason) == ["Halved, because it answered 503."])
    }

    /// A resolver may take it for another host, or for none.
    @Test(
        arguments: [
            ("files.test.", "files.test"), ("192.0.2.1.", "192.0.2.1"),
            ("[::ffff:192.0.2.1]", "192.0.2.1"),
        ]
    )
    func aHostIsNotClosedForAnotherSpelling(spelling: String, host: String) async throws {
        let fixture = try await EngineFixture()
        var settings = HostConnectivity.Settings()
        settings.failuresMin = 1
        settings.silenceMin = .zero
        let reporter = HostReporter(
            hosts: fixture.stores.hosts,
            queue: fixture.stores.queue,
            reachability: Reachability(settings) { _, _ in },
            fairShare: SharedFairShare(FairShare.Settings())
        )
        let hostKey = HostKey(host: host, port: 80)
        for (written, isClosed) in [(spelling, false), (host, true)] {
            let url = try CurlURL("http://\(written)/")
            let claim = TaskClaim(
                task: TaskID(UUID()),
                fence: Fence(rawValue: 1),
                tenant: fixture.tenant,
                session: SessionID(UUID()),
                hostKey: HostKey(host: url.host, port: 80),
                number: 1,
                url: url.absoluteString,
                headers: [],
                destination: nil,
                timeoutForRequest: .seconds(60),
                timeoutForResource: .seconds(60),
                options: TransferOptions()
            )
            #expect(claim.hostKey == hostKey)
            _ = reporter.noteFailure(
                of: claim,
                TransferFailure(.couldNotResolveHost, "No address."),
                AttemptMetrics(),
                at: url,
                bytes: 0
            )
            #expect(reporter.reachability.isClosed(hostKey) == isClosed)
        }
    }

    @Test func aHostThatIsAwayIsAskedByOneAtATime() async throws {
        let fixture = try await EngineFixture()
        let gone = try HeldPort()
        defer { withExtendedLifetime(gone) {} }
        var ids: [TaskID] = []
        for _ in 0..<20 {
            ids.append(try await fixture.submit("http://127.0.0.1:\(gone.number)/file"))
        }
        try await fixture.withEngine {
            $0.connectivity.failuresMin = 3
            $0.connectivity.silenceMin = .zero
            $0.connectivity.probeDelayBase = .seconds(300)
        } _: { [ids] _ in
            // They are not to wait, and so fail, most of them without a request.
            for id in ids {
                let task = try await fixture.ended(id)
                #expect(task.failure?.code == .couldNotConnect)
            }
            try await eventually("it is told") {
                try await known(fixture, gone.number)?.isClosed == true
            }
        }
        let host = try #require(try await known(fixture, gone.number))
        #expect(
            host.decisions.contains { $0.after == 0 && $0.reason.hasPrefix("Closed, because 3") }
        )
        let last = try await fixture.task(ids[19])
        #expect(last.failure?.message.contains("one attempt at a time") == true)
    }
}
