import Foundation
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

@testable import TransferEngine

/// Hosts that cannot be reached, and tasks that wait for them.
@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct EngineConnectivityTests {
    private static let body = OriginBody.text("back again")

    private func submit(
        _ fixture: EngineFixture,
        _ port: UInt16,
        waits: Bool = true,
        _ change: (inout TaskSubmission) -> Void = { _ in }
    ) async throws -> TaskID {
        try await fixture.submit("http://127.0.0.1:\(port)/file") {
            $0.options.waitsForConnectivity = waits
            change(&$0)
        }
    }

    private static func hurry(_ configuration: inout EngineConfiguration) {
        configuration.connectivity.retryDelay = .milliseconds(20)
        configuration.connectivity.failuresMin = 3
        configuration.connectivity.silenceMin = .zero
        configuration.connectivity.probeDelayBase = .milliseconds(100)
        configuration.connectivity.probeDelayMax = .milliseconds(200)
    }

    @Test func aTaskWaitsForItsHostWithoutUsingUpAttempts() async throws {
        let fixture = try await EngineFixture()
        let silent = try HeldPort()
        defer { withExtendedLifetime(silent) {} }
        var ids: [TaskID] = []
        for _ in 0..<5 { ids.append(try await submit(fixture, silent.number)) }
        try await fixture.withEngine(Self.hurry) { [ids] engine in
            for id in ids {
                try await eventually("it waits") {
                    try await fixture.task(id).state == .waitingForConnectivity
                }
            }
            // Now and then it asks whether the host is back, and then it runs.
            try await eventually("it says why it waits, and until when") {
                let waiting = try await fixture.task(ids[0])
                return waiting.attempt == 0 && waiting.failure?.code == .couldNotConnect
                    && waiting.waitsUntil != nil
            }
            let origin = try LoopbackOrigin(port: silent.number)
            defer { origin.stop() }
            origin.when("/file", .response(body: Self.body))
            for id in ids {
                try await eventually("it has ended") { try await fixture.task(id).state.isTerminal }
                let task = try await fixture.task(id)
                #expect(task.state == .completed)
                #expect(task.attempt == 1)
            }
        }
        let told = try await fixture.events().filter { $0.kind == .taskWaiting }
        #expect(told.allSatisfy { $0.task?.state == .waitingForConnectivity })
        #expect(Set(told.compactMap(\.task?.id)) == Set(ids))
    }

    /// A task that reaches the host opens it for all; one that does not wait tries it like any
    /// other.
    @Test func aTaskThatReachesTheHostReleasesTheOthers() async throws {
        let fixture = try await EngineFixture()
        let silent = try HeldPort()
        defer { withExtendedLifetime(silent) {} }
        var ids: [TaskID] = []
        for _ in 0..<3 { ids.append(try await submit(fixture, silent.number)) }
        try await fixture.withEngine {
            $0.connectivity.retryDelay = .milliseconds(10)
            $0.connectivity.failuresMin = 2
            $0.connectivity.silenceMin = .zero
            $0.connectivity.probeDelayBase = .seconds(1)
        } _: { [ids] engine in
            for id in ids {
                try await eventually("the host counts as away") {
                    try await fixture.task(id).state == .waitingForConnectivity
                }
            }
            let origin = try LoopbackOrigin(port: silent.number)
            defer { origin.stop() }
            origin.when("/file", .response(body: Self.body))
            let bold = try await submit(fixture, silent.number, waits: false) {
                $0.options.attemptsMax = 100
                $0.options.retryDelayBase = .milliseconds(100)
                $0.options.retryDelayMax = .milliseconds(200)
            }
            engine.wake()
            for id in ids + [bold] {
                try await eventually("it has ended") {
                    try await fixture.task(id).state == .completed
                }
            }
        }
    }

    /// It opens the host with the first sign of it, and not at the task's end.
    @Test(arguments: [TransferRequest.Kind.download, .upload])
    func aLongTransferThatReachesTheHostReleasesTheOthers(
        kind: TransferRequest.Kind
    ) async throws {
        let fixture = try await EngineFixture()
        let silent = try HeldPort()
        defer { withExtendedLifetime(silent) {} }
        var ids: [TaskID] = []
        for _ in 0..<3 {
            ids.append(
                try await submit(fixture, silent.number) {
                    guard kind == .upload else { return }
                    $0.request = TransferRequest(
                        kind: .upload,
                        method: "PUT",
                        upload: .data(Array("some".utf8))
                    )
                }
            )
        }
        try await fixture.withEngine(Self.hurry) { [ids] _ in
            for id in ids {
                try await eventually("the host counts as away") {
                    try await fixture.task(id).state == .waitingForConnectivity
                }
            }
            let origin = try LoopbackOrigin(port: silent.number)
            defer { origin.stop() }
            let gate = OriginGate()
            origin.when("/file", .gated(Self.body, after: 1, gate))
            await origin.log.arrived(3, at: "/file")
            gate.open()
            try await fixture.expectCompletion(ids)
        }
    }

    /// Also when its request has arrived and must not be sent twice.
    @Test func aProbeThatIsCancelledLeavesTheHostToOthers() async throws {
        let fixture = try await EngineFixture()
        let silent = try HeldPort()
        defer { withExtendedLifetime(silent) {} }
        var ids: [String: TaskID] = [:]
        for number in 0..<3 {
            let target = "/in?\(number)"
            let url = "http://127.0.0.1:\(silent.number)\(target)"
            ids[target] = try await fixture.submit(url) {
                $0.options.waitsForConnectivity = true
                $0.request = TransferRequest(method: "POST", upload: .data([1]))
            }
        }
        try await fixture.withEngine {
            Self.hurry(&$0)
            $0.connectivity.failuresMin = 1
            // Only the end of a probe lets the next one begin.
            $0.connectivity.probeDurationMax = .seconds(3600)
        } _: { [ids] _ in
            for id in ids.values {
                try await eventually("the host counts as away") {
                    try await fixture.task(id).state == .waitingForConnectivity
                }
            }
            let origin = try LoopbackOrigin(port: silent.number)
            defer { origin.stop() }
            let gate = OriginGate()
            origin.when("/in") { _ in
                OriginScript([.wait(gate), .head(201, [("Content-Length", "0")])])
            }
            await origin.log.arrived(1)
            let target = try #require(origin.log.now.requests.first?.target)
            let probing = try #require(ids[target])
            _ = try await fixture.stores.control.cancelTask(tenant: fixture.tenant, id: probing)
            await origin.log.arrived(2)
            gate.open()
            try await fixture.expectCompletion(ids.values.filter { $0 != probing })
            #expect(try await fixture.task(probing).state == .cancelled)
        }
    }

    @Test func whoDoesNotWaitFailsByItsRetries() async throws {
        let fixture = try await EngineFixture()
        let silent = try HeldPort()
        defer { withExtendedLifetime(silent) {} }
        let id = try await submit(fixture, silent.number, waits: false)
        let task = try await fixture.withEngine(Self.hurry) { _ in try await fixture.ended(id) }
        #expect(task.failure?.code == .couldNotConnect)
        #expect(task.attempt == 3)
    }

    @Test func noTaskWaitsBeyondItsTime() async throws {
        let fixture = try await EngineFixture()
        let silent = try HeldPort()
        defer { withExtendedLifetime(silent) {} }
        let id = try await submit(fixture, silent.number) {
            $0.options.timeoutForResource = .milliseconds(500)
            $0.options.attemptsMax = 1
        }
        let task = try await fixture.withEngine(Self.hurry) { _ in try await fixture.ended(id) }
        #expect(task.state == .failed)
    }
}
