import Foundation
import Testing
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
        let service = try await ServiceProcess(in: directory, environment: clock.environment)
        let client = try APIClient(service, key: directory.apiKey())
        #expect(try await client.send("PUT", "/v1/sessions/s", "{}").status == 201)
        let later = Date(timeIntervalSinceNow: 300).ISO8601Format()
        for task in [
            #"{"url": "\#(origin.url("/running"))", "idempotent": false}"#,
            #"{"url": "\#(origin.url("/later"))", "earliest_begin_at": "\#(later)"}"#,
        ] {
            #expect(try await client.send("POST", "/v1/sessions/s/tasks", task).status == 202)
        }
        try await eventually("one runs") { origin.log.now.requests.map(\.path) == ["/running"] }
        for _ in 0..<2 {
            try clock.set(ahead: 600)
            try await eventually("it is told") {
                let health = try await client.get("/health", as: HealthDocument.self)
                return health.databaseClock.status == "fail" && health.status == "warn"
            }
            try clock.set(ahead: 0)
            try await eventually("it is told that it is over") {
                try await client.get("/health", as: HealthDocument.self).status == "pass"
            }
        }
        gate.open()
        try await eventually("what ran ends") {
            let page = try await client.get(
                "/v1/sessions/s/tasks?state=completed",
                as: Page<TaskDocument>.self
            )
            return page.items.map(\.attempt) == [1]
        }
        // The other one has been due twice by the database's clock.
        #expect(origin.log.now.requests.map(\.path) == ["/running"])
        #expect(await service.terminate() == 0)
    }
}
