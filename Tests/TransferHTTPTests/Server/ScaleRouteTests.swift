import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

@testable import TransferHTTP

/// Requests of clients, which read only as much as they answer, however full the database is.
///
/// `make scale` runs it with a million tasks.
@Suite(.postgresDatabase, .timeLimit(.minutes(15))) struct ScaleRouteTests {
    private static let tasks =
        ProcessInfo.processInfo.environment["TRANSFERD_SCALE_TASKS"].flatMap { Int($0) } ?? 10_000
    private static let tasksWhenPlanned = 1000
    private static let limit = 50
    /// The numbers of pages allowed for each returned item, and beside all items.
    private static let pagesOfItem: Int64 = 40
    private static let pagesMax: Int64 = 500
    /// The number of pages when no task has the requested state, or as many tasks are examined.
    private static let pagesOfLook: Int64 = 60_000

    private struct Question {
        let path: @Sendable (ScaleWorld) -> String
        var pages = pagesMax

        init(_ path: String, pages: Int64 = pagesMax) {
            self.init({ _ in path }, pages: pages)
        }

        init(_ path: @escaping @Sendable (ScaleWorld) -> String, pages: Int64 = pagesMax) {
            self.path = path
            self.pages = pages
        }
    }

    private static let questions: [Question] =
        [
            Question("/v1/sessions?limit=\(limit)"),
            Question("/v1/sessions?prefix=s9&limit=\(limit)", pages: pagesOfLook),
            Question("/v1/sessions?outstanding=true&limit=\(limit)", pages: pagesOfLook),
            Question("/v1/events?limit=\(limit)"),
            Question("/v1/sessions/large"),
            Question("/v1/tasks?limit=\(limit)", pages: pagesOfLook),
            Question("/v1/tasks?order=newest&limit=\(limit)", pages: pagesOfLook),
            Question("/v1/tasks?state=failed,cancelled&limit=\(limit)", pages: pagesOfLook),
            Question("/v1/tasks?kind=upload&limit=\(limit)", pages: 4 * pagesOfLook),
            Question("/v1/sessions/large/tasks?order=newest&limit=\(limit)", pages: pagesOfLook),
            Question(
                "/v1/sessions/kept/tasks?state=completed,failed&order=newest&limit=\(limit)",
                pages: pagesOfLook
            ),
            Question(
                "/v1/sessions/large/tasks?client_persisted_string=none&limit=\(limit)",
                pages: 4 * pagesOfLook
            ),
            Question("/v1/sessions/s7"),
            Question("/v1/sessions/large/tasks?limit=\(limit)"),
            Question("/v1/sessions/s7/tasks?limit=\(limit)"),
            Question { "/v1/sessions/large/tasks?cursor=\(cursor($0.large($0.tasks / 2)))" },
            Question {
                "/v1/sessions/large/events?after=\(place(behind: $0.tasks / 2, of: 0, $0))"
                    + "&limit=\(limit)"
            },
            Question {
                "/v1/sessions/kept/events?after=\(place(behind: end(of: 9, $0) - 1, of: 1, $0))"
                    + "&limit=1"
            },
            Question { "/v1/tasks/\($0.large(.queued))" },
            Question { "/v1/tasks/\($0.kept(0))" },
            Question { "/v1/tasks/\($0.kept(0))/attempts" },
            Question { "/v1/tasks/\($0.kept(0))/metrics" },
            Question("/v1/subscriptions?limit=\(limit)"),
            Question { "/v1/subscriptions/\($0.subscription(1))/deliveries?limit=\(limit)" },
            Question { "/v1/subscriptions/\($0.subscription(1))/deliveries?state=dead&limit=9" },
            Question { "/v1/deliveries/\($0.delivery(0))" },
            Question("/v1/clients"),
            Question("/v1/credentials?limit=\(limit)"),
            // Each session with running tasks is looked up once.
            Question("/v1/tenant", pages: 100),
        ]
        + TransferState.allCases.flatMap { state in
            ["large", "kept"].map {
                let isKept = $0 == "kept" && state.isTerminal
                return Question(
                    "/v1/sessions/\($0)/tasks?state=\(state.rawValue)&limit=\(limit)",
                    pages: isKept ? pagesMax : pagesOfLook
                )
            }
        }

    private static func cursor(_ task: TaskID) -> String { Cursor.task(task).serialized }

    /// Returns the position after the event with this sequence of the `n`th session.
    private static func place(behind sequence: Int, of n: Int, _ world: ScaleWorld) -> String {
        "\(EventCursor(log: world.session(n), sequence: Int64(sequence)))"
    }

    private static func end(of generation: Int, _ world: ScaleWorld) -> Int {
        generation * (2 * world.generation + 1)
    }

    private struct Items: Decodable {
        let items: [Item]?
        let next_cursor: String?

        struct Item: Decodable {}
    }

    @Test func answersReadWhatTheyTell() async throws {
        let meter = PageMeter()
        try await APIServer.run(stores: meter.stores) { server in
            let connection = try await ScaleWorld.connection()
            let worker = WorkerIdentity(
                incarnation: try await server.stores.workers.registerWorker(name: "scale")
            )
            try await meter.holdStatistics()
            for tasks in [Self.tasksWhenPlanned, Self.tasks] {
                let world = try await ScaleWorld(
                    tasks: tasks,
                    of: server.first.id,
                    worker: worker,
                    in: server.stores,
                    by: connection
                )
                for question in Self.questions {
                    let path = question.path(world)
                    let read = try await Self.read(path, server, meter)
                    let pagesMax = question.pages + Self.pagesOfItem * Int64(read.items)
                    #expect(read.pages <= pagesMax, "\(path)")
                }
            }
        }
    }

    /// A list can be read to its end, also when pages on the way hold nothing.
    @Test func aFilteredListComesToItsEnd() async throws {
        try await APIServer.run { server in
            let connection = try await ScaleWorld.connection()
            let worker = WorkerIdentity(
                incarnation: try await server.stores.workers.registerWorker(name: "scale")
            )
            let world = try await ScaleWorld(
                tasks: Self.tasks,
                of: server.first.id,
                worker: worker,
                in: server.stores,
                by: connection
            )
            for (session, state) in [("kept", "suspended"), ("large", "scheduled")] {
                var items = 0
                var pages = 0
                var cursor: String?
                repeat {
                    let answer = try await server.send(
                        "GET",
                        "/v1/sessions/\(session)/tasks?state=\(state)&limit=100"
                            + (cursor.map { "&cursor=\($0)" } ?? "")
                    )
                    let page = try JSONDecoder().decode(Items.self, from: Data(answer.body))
                    items += page.items?.count ?? 0
                    pages += 1
                    cursor = page.next_cursor
                } while cursor != nil && pages <= world.tasks
                #expect(items == (session == "kept" ? 0 : world.tasks / 25))
            }
        }
    }

    private static func read(
        _ path: String,
        _ server: APIServer,
        _ meter: PageMeter
    ) async throws -> (items: Int, pages: Int64) {
        var items = 1
        let pages = try await meter.pages { _ in
            let answer = try await server.send("GET", path)
            #expect(answer.status == 200, "\(path)")
            let list = try JSONDecoder().decode(Items.self, from: Data(answer.body))
            items = list.items?.count ?? 1
        }
        return (items, pages)
    }
}
