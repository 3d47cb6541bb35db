import Foundation
import Glibc
import Testing
import TransferTestSupport
import TransferWire

/// A thousand background tasks that are due in the same second, while two schedulers look and
/// something fails.
@Suite(.timeLimit(.minutes(5)), .serialized) struct BackgroundTaskTests {
    enum Fault: CaseIterable {
        case none
        /// One of the two schedulers is killed while it launches.
        case deadScheduler
        /// Both are killed before the time, and another one comes after it.
        case noScheduler
        /// The database stands still for longer than a lease.
        case databaseAway
    }

    private static let clients = 100
    private static let identifiers = 10

    @Test(arguments: Fault.allCases)
    func areLaunchedOnceEach(fault: Fault) async throws {
        let directory = try DataDirectory()
        let front = try await ServiceProcess(in: directory, ["--roles", "api"])
        let workers = ["--roles", "worker,webhooks"]
        let first = try await ServiceProcess(in: directory, workers)
        let second = try await ServiceProcess(in: directory, workers)
        let client = try HTTPClient(front, key: directory.apiKey())
        let receiver = try WebhookReceiver()
        let start = Date()
        try await prepare(client, receiver)
        // Submitting takes about as long as that, on a machine with much else to do too.
        let date = Date(timeIntervalSinceNow: max(20, 3 * Date().timeIntervalSince(start)))
        try await submit(client, at: date)
        // Not the messages, which would fill the log of a failure.
        let early = receiver.received().count
        #expect(early == 0 || Date.now >= date)
        var third: ServiceProcess?
        switch fault {
        case .none: break
        case .deadScheduler:
            try await eventually("launches begin", within: patience(with: date)) {
                !receiver.received().isEmpty
            }
            _ = await first.killNow()
        case .noScheduler:
            _ = await first.killNow()
            _ = await second.killNow()
            let wereInTime = Date.now < date
            try await eventually("the time has passed", within: patience(with: date)) {
                date.timeIntervalSinceNow < -1
            }
            let count = receiver.received().count
            #expect(count == 0 || !wereInTime)
            third = try await ServiceProcess(in: directory, workers)
        case .databaseAway:
            try directory.signalDatabase(SIGSTOP)
            try await eventually("longer than a lease", within: patience(with: date)) {
                date.timeIntervalSinceNow < -12
            }
            try directory.signalDatabase(SIGCONT)
        }
        try await check(client, receiver)
        _ = (first, second, third)
    }

    /// Returns a limit for what happens at `date` or soon after it.
    private func patience(with date: Date) -> Duration {
        .seconds(max(0, date.timeIntervalSinceNow) + 60)
    }

    /// Makes the clients and their handlers, and a subscription to launches.
    private func prepare(_ client: HTTPClient, _ receiver: WebhookReceiver) async throws {
        let settings = "/v1/tenant/background-settings"
        let body = #"{"permitted_identifiers": ["*"], "processing_seconds": 3600}"#
        #expect(await client.status("PATCH", settings, body) == 200)
        let hook = #"{"url": "\#(receiver.open())", "event_types": ["background_task.launch"]}"#
        #expect(await client.status("POST", "/v1/subscriptions", hook) == 201)
        try await eachClient { name in
            #expect(await client.status("PUT", "/v1/clients/\(name)") == 201)
            for number in 0..<Self.identifiers {
                let path = "/v1/background-tasks/handlers/t\(number)?client=\(name)"
                #expect(await client.status("PUT", path, #"{"kind": "processing"}"#) == 201)
            }
        }
    }

    private func submit(_ client: HTTPClient, at date: Date) async throws {
        let time = Timestamp(date).rfc3339
        try await eachClient { name in
            for number in 0..<Self.identifiers {
                let body = """
                    {"identifier": "t\(number)", "client": "\(name)", "earliest_begin_at": "\(time)"}
                    """
                let path = "/v1/background-tasks/requests"
                #expect(await client.status("POST", path, body) == 201)
            }
        }
    }

    private func eachClient(_ body: @escaping @Sendable (String) async throws -> Void) async throws
    {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in 0..<8 {
                group.addTask {
                    for number in stride(from: worker, to: Self.clients, by: 8) {
                        try await body("c\(number)")
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    /// Checks that each request has one run, and that each run was told under one message.
    private func check(_ client: HTTPClient, _ receiver: WebhookReceiver) async throws {
        let count = Self.clients * Self.identifiers
        try await eventually("all launches are told", within: .seconds(120)) {
            Set(receiver.received().map(\.id)).count == count
        }
        var told: Set<String> = []
        for message in receiver.received() {
            let event = try JSONDecoder().decode(EventMessage.self, from: Data(message.body))
            told.insert(try #require(event.data.backgroundTask?.runID))
        }
        #expect(told.count == count)
        for number in 0..<Self.clients {
            let path = "/v1/background-tasks/runs?client=c\(number)"
            var runs: [RunDocument] = []
            // The answers of the receiver may not be recorded yet.
            try await eventually("the launches are accepted") {
                runs = try await client.get(path, as: Page<RunDocument>.self).items
                return runs.allSatisfy { $0.state == "running" }
            }
            #expect(runs.count == Self.identifiers)
            #expect(Set(runs.map(\.identifier)).count == Self.identifiers)
            #expect(told.isSuperset(of: runs.map(\.id)))
        }
    }
}
