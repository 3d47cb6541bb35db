import Foundation
import Glibc
import Testing
import TransferTestSupport
import TransferWire

/// The ends of graces, assertions and runs, while those who look after them are killed again and
/// again.
@Suite(.timeLimit(.minutes(5)), .serialized) struct BackgroundMomentTests {
    enum Fault: CaseIterable {
        /// One of two schedulers is always killed or just started.
        case deadSchedulers
        /// The database is killed as soon as it is back.
        case deadDatabase
    }

    /// What happens to a client, and what its log says of it.
    private enum Fate: String, CaseIterable {
        case grace, leak, run

        /// The events, of which the announcement of an end may be left out: it is late when nobody
        /// was there before the end itself.
        var events: [String] {
            switch self {
            case .grace: ["background", "suspended"]
            case .leak: ["background", "assertion.expired", "terminated"]
            case .run: ["background_task.launch", "background_task.expired"]
            }
        }

        var announcement: String? {
            switch self {
            case .grace: nil
            case .leak: "assertion.expiring"
            case .run: "background_task.expiring"
            }
        }
    }

    private static let clients = 15
    private static let workers = ["--roles", "worker,webhooks"]
    /// The time of assertions and runs.
    private static let time = 10.0

    @Test(arguments: Fault.allCases)
    func eachMomentComesOnce(fault: Fault) async throws {
        let directory = try DataDirectory()
        let front = try await ServiceProcess(in: directory, ["--roles", "api"])
        var schedulers = [
            try await ServiceProcess(in: directory, Self.workers),
            try await ServiceProcess(in: directory, Self.workers),
        ]
        let client = try HTTPClient(front, key: directory.apiKey())
        try await prepare(client)
        let end = Date(timeIntervalSinceNow: Self.time + 4)
        var faults = 0
        while Date.now < end || faults < 2 {
            switch fault {
            case .deadSchedulers:
                _ = await schedulers[faults % 2].killNow()
                schedulers[faults % 2] = try await ServiceProcess(in: directory, Self.workers)
            case .deadDatabase:
                try directory.signalDatabase(SIGKILL)
                // It recovers from its log, beside all other tests.
                try await eventually("the database is back", within: .seconds(60)) {
                    await client.status("GET", "/v1/clients") == 200
                }
            }
            faults += 1
        }
        for fate in Fate.allCases {
            for number in 0..<Self.clients { try await check(fate, number, client) }
        }
        withExtendedLifetime((front, schedulers)) {}
    }

    /// Makes clients to which something will happen in a few seconds.
    private func prepare(_ client: HTTPClient) async throws {
        let settings = """
            {"permitted_identifiers": ["*"], "assertion_budget_seconds": \(Self.time),
            "app_refresh_seconds": \(Self.time)}
            """
        let tenant = "/v1/tenant/background-settings"
        #expect(await client.status("PATCH", tenant, settings) == 200)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<Self.clients {
                for fate in Fate.allCases {
                    let name = "\(fate)\(number)"
                    #expect(await client.status("PUT", "/v1/clients/\(name)") == 201)
                    for (method, path, body) in Self.calls(for: fate, name) {
                        let status = await client.status(method, path, body)
                        #expect([200, 201].contains(status), "\(method) \(path)")
                    }
                    // Beside the others, for its time passes while they are made.
                    if fate == .run { group.addTask { try await accept(name, client) } }
                }
            }
            try await group.waitForAll()
        }
    }

    /// The requests after which a client awaits its fate.
    private static func calls(for fate: Fate, _ name: String) -> [(String, String, String?)] {
        let tasks = "/v1/background-tasks"
        switch fate {
        case .grace: return [("POST", "/v1/clients/\(name)/background", nil)]
        case .leak:
            return [
                ("POST", "/v1/assertions", #"{"name": "a", "client": "\#(name)"}"#),
                ("POST", "/v1/clients/\(name)/background", nil),
            ]
        case .run:
            return [
                (
                    "PUT", "\(tasks)/handlers/task?client=\(name)",
                    #"{"kind": "app_refresh"}"#
                ),
                (
                    "POST", "\(tasks)/requests",
                    #"{"identifier": "task", "client": "\#(name)"}"#
                ),
            ]
        }
    }

    /// Takes up the run of a client.
    private func accept(_ name: String, _ client: HTTPClient) async throws {
        try await eventually("the run is accepted") {
            let runs: Page<RunDocument> = try await client.get(
                "/v1/background-tasks/runs?client=\(name)"
            )
            guard let run = runs.items.first else { return false }
            let path = "/v1/background-tasks/runs/\(run.id)/accept"
            return await client.status("POST", path) == 200
        }
    }

    private func check(_ fate: Fate, _ number: Int, _ client: HTTPClient) async throws {
        var events: [String] = []
        try await eventually("all has happened to \(fate)\(number)") {
            let page: EventPage = try await client.get("/v1/clients/\(fate)\(number)/events")
            #expect(page.items.map(\.data.sequence) == (0..<page.items.count).map { Int64($0) + 1 })
            events = page.items.map { $0.data.lifecycle?.to ?? $0.type }
            return events.last == fate.events.last
        }
        #expect(events.filter { $0 == fate.announcement }.count <= 1)
        #expect(events.filter { $0 != fate.announcement } == fate.events, "\(fate)\(number)")
    }
}
