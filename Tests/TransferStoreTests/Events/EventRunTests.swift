import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

/// Events lie in runs; whoever reads them must not notice.
@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct EventRunTests {
    /// Runs of 128, 128 and 44 events.
    private static let count = 300

    private func runs(_ fixture: StoreFixture) async throws -> Int64 {
        try await fixture.count("SELECT count(*) AS count FROM event_run")
    }

    private func page(
        _ fixture: StoreFixture,
        after sequence: Int64,
        limit: Int
    ) async throws -> [SessionEvent] {
        try await fixture.stores.events.events(
            of: try await fixture.session().id,
            after: sequence,
            limit: limit
        ).items
    }

    @Test func aPageBeginsAndEndsAtAnyEvent() async throws {
        let fixture = try await StoreFixture()
        let ids = try await fixture.submit(Self.count)
        #expect(try await runs(fixture) == 3)
        let all = try await fixture.events()
        #expect(all.map(\.sequence) == Array(1...Int64(Self.count)))
        #expect(all.map(\.task?.id) == ids)
        #expect(Set(all.map(\.id)).count == Self.count)
        // People find them under the same identifiers.
        let rows = try await fixture.aside.execute("SELECT id FROM event ORDER BY sequence")
        #expect(try rows.map { try $0.decode("id", as: UUID.self) } == all.map(\.id))
        for after in [0, 1, 126, 127, 128, 129, 255, 256, 257, 299, 300] {
            for limit in [1, 2, 127, 128, 129, 200] {
                let page = try await page(fixture, after: Int64(after), limit: limit)
                let expected = all[after..<min(after + limit, Self.count)]
                #expect(page.map(\.id) == expected.map(\.id), "after \(after), limit \(limit)")
                #expect(page.map(\.sequence) == expected.map(\.sequence))
                #expect(page.map(\.task?.id) == expected.map(\.task?.id))
            }
        }
    }

    @Test func aPageCostsWhatItShows() async throws {
        let fixture = try await StoreFixture()
        let meter = PageMeter()
        try await meter.holdStatistics()
        let session = try await fixture.session().id
        func pages(_ limit: Int, after sequence: Int64) async throws -> Int64 {
            try await meter.pages { stores in
                let page = try await stores.events.events(
                    of: session,
                    after: sequence,
                    limit: limit
                )
                #expect(page.count == limit)
            }
        }
        try await fixture.submit(2)
        _ = try await pages(1, after: 0)
        for _ in 0..<10 { try await fixture.submit(1000) }
        let one = try await pages(1, after: 5003)
        #expect(one <= 40, "\(one) pages")
        let ten = try await pages(10, after: 5003)
        #expect(ten <= 150, "\(ten) pages")
    }

    @Test func eventsOfOneSubmissionKeepItsOrderWhateverTheirStates() async throws {
        let fixture = try await StoreFixture()
        let ids = try await fixture.submit(12) { submission, index in
            switch index % 6 {
            case 1: submission.autostart = false
            case 2: submission.earliestBeginAt = Date(timeIntervalSinceNow: 3600)
            case 3: submission.earliestBeginAt = Date(timeIntervalSinceNow: -3600)
            default: break
            }
        }
        let events = try await fixture.events()
        #expect(events.map(\.task?.id) == ids)
        let states: [TransferState] = [
            .queued, .suspended, .scheduled, .queued, .queued, .queued,
        ]
        #expect(events.map(\.task?.state) == states + states)
        #expect(try await fixture.states(ids) == states + states)
        try await fixture.checkInvariants()
    }

    @Test func endsOfOneBatchAreToldOnceEachWithWhatBelongsToThem() async throws {
        let fixture = try await StoreFixture()
        try await fixture.submit(Self.count)
        let claims = try await fixture.claim(Self.count)
        let failed = Set(claims.enumerated().filter { $0.offset % 3 == 0 }.map(\.element.task))
        let bytes = Dictionary(
            uniqueKeysWithValues: claims.enumerated().map { ($1.task, Int64($0 + 1)) }
        )
        let ended = try await fixture.stores.completions.end(
            claims.map { claim in
                AttemptEnd(
                    task: claim.task,
                    fence: claim.fence,
                    outcome: failed.contains(claim.task)
                        ? .failed(StoreFixture.failure)
                        : .fetched(StoreFixture.result, part: claim.fence),
                    bytesReceived: bytes[claim.task] ?? 0
                )
            }
        )
        #expect(ended.count == Self.count)
        let events = try await fixture.events().dropFirst(Self.count)
        #expect(events.map(\.sequence) == Array(301...Int64(2 * Self.count + 201)))
        #expect(events.last?.kind == .sessionEventsFinished)
        var fetched: Set<TaskID> = []
        var told: Set<TaskID> = []
        for event in events.dropLast() {
            let task = try #require(event.task)
            #expect(task.bytesReceived == bytes[task.id])
            #expect(task.attempt == 1)
            switch event.kind {
            case .taskDownloadFinished:
                #expect(fetched.insert(task.id).inserted)
                #expect(!told.contains(task.id))
            case .taskCompleted:
                #expect(fetched.contains(task.id) && told.insert(task.id).inserted)
                #expect(task.failure == nil)
            default:
                #expect(event.kind == .taskFailed && failed.contains(task.id))
                #expect(task.failure?.code == StoreFixture.failure.code)
                #expect(told.insert(task.id).inserted)
            }
        }
        #expect(told == Set(claims.map(\.task)))
        // Three of created tasks, three of each kind of end, and the last event.
        #expect(try await runs(fixture) == 13)
        try await fixture.checkInvariants()
    }

    @Test func whoReadsBesideWritersSeesEachEventOnce() async throws {
        let fixture = try await StoreFixture()
        let session = try await fixture.session().id
        let rounds = 12
        try await withThrowingTaskGroup(of: [Int64].self) { group in
            for limit in [1, 50, 128, 1000] {
                group.addTask {
                    var read: [Int64] = []
                    while read.count < rounds * 130 {
                        let page = try await fixture.stores.events.events(
                            of: session,
                            after: read.last ?? 0,
                            limit: limit
                        )
                        read += page.map(\.sequence)
                    }
                    return read
                }
            }
            for _ in 0..<rounds { try await fixture.submit(130) }
            for try await read in group {
                #expect(read == Array(1...Int64(rounds * 130)))
            }
        }
    }
}
