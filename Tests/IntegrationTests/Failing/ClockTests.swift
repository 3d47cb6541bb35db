import Foundation
import Testing
import TransferClient
import TransferTestSupport
import TransferWire

/// The effects on tasks when somebody sets the database's clock.
@Suite(.timeLimit(.minutes(3))) struct ClockTests {
    @Test func nothingBeginsEarlierWhenTheClockIsSetAheadAndItIsTold() async throws {
        let directory = try DataDirectory()
        let clock = try await ServerClock()
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        let body = OriginBody.random(seed: 1, size: 5000)
        let gate = OriginGate()
        origin.when("/running", .gated(body, after: 1000, gate))
        origin.when("/later", .response(body: body))
        let log = try directory.log()
        let service = try await ServiceProcess(
            in: directory,
            environment: clock.environment,
            log: log
        )
        let client = try service.client(key: directory.apiKey())
        try await client.makeSession("s")
        let running = TaskRequest(
            target: .url(origin.url("/running")),
            options: OptionMembers(["idempotent": .bool(false)])
        )
        let later = TaskRequest(
            target: .url(origin.url("/later")),
            earliestBeginAt: Timestamp(Date(timeIntervalSinceNow: 300))
        )
        for task in [running, later] { try await client.submit([task], toSession: "s") }
        try await eventually("one runs") { origin.log.now.requests.map(\.path) == ["/running"] }
        for _ in 0..<2 {
            try clock.set(ahead: 600)
            try await eventually("it is told") {
                let health = try await client.health()
                return health.databaseClock.status == "fail" && health.status == "warn"
                    && health.clock.status == "warn" && health.clock.seconds == -600
            }
            try clock.set(ahead: 0)
            try await eventually("it is told that it is over") {
                try await client.health().status == "pass"
            }
        }
        gate.open()
        try await eventually("what ran ends") {
            let page = try await client.tasks(ofSession: "s", states: ["completed"])
            return page.items.map(\.attempt) == [1]
        }
        // The other one has been due twice by the database's clock.
        #expect(origin.log.now.requests.map(\.path) == ["/running"])
        #expect(await service.terminate() == 0)
        // Each time once, however often it was checked.
        let lines = try String(contentsOfFile: log, encoding: .utf8)
        #expect(lines.components(separatedBy: "differs from the database's").count == 3)
    }
}
