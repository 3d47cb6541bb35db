import Foundation
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

/// Lists of the tasks that were created in a time.
@Suite(.postgresSchema) struct TaskTimeTests {
    private func list(_ filter: TaskFilter, _ fixture: StoreFixture) async throws -> TaskPage {
        let page = try await fixture.stores.taskLists.tasks(
            tenant: fixture.tenant,
            sessionIdentifier: StoreFixture.identifier,
            filter: filter,
            after: nil,
            limit: 10
        )
        return try #require(page)
    }

    /// A page looks at five thousand tasks, so more of them would take more pages.
    @Test func aListEndsWhereItsTimeDoes() async throws {
        let fixture = try await StoreFixture()
        for count in [1000, 1000, 1000, 1000, 1000, 1] { _ = try await fixture.submit(count) }
        let day: TimeInterval = 24 * 3600
        let filters = [
            TaskFilter(createdFrom: Date(timeIntervalSinceNow: day), isNewestFirst: true),
            TaskFilter(createdBefore: Date(timeIntervalSinceNow: -day)),
        ]
        for filter in filters {
            let page = try await list(filter, fixture)
            #expect(page.tasks.isEmpty, "\(filter)")
            #expect(page.next == nil, "\(filter)")
        }
    }

    @Test func whatWasCreatedInTheTimeIsListed() async throws {
        let fixture = try await StoreFixture()
        let ids = try await fixture.submit(3)
        _ = try await fixture.stores.control.cancelTask(tenant: fixture.tenant, id: ids[1])
        let day: TimeInterval = 24 * 3600
        func found(
            _ states: [TransferState],
            from begin: TimeInterval,
            to end: TimeInterval,
            isNewestFirst: Bool
        ) async throws -> [TaskID] {
            let filter = TaskFilter(
                states: states,
                createdFrom: Date(timeIntervalSinceNow: begin),
                createdBefore: Date(timeIntervalSinceNow: end),
                isNewestFirst: isNewestFirst
            )
            return try await list(filter, fixture).tasks.map(\.id)
        }
        for isNewestFirst in [false, true] {
            let all = isNewestFirst ? ids.reversed() : ids
            let cases: [(states: [TransferState], own: [TaskID])] = [
                ([], all), ([.cancelled], [ids[1]]),
            ]
            for (states, own) in cases {
                let now = try await found(states, from: -day, to: day, isNewestFirst: isNewestFirst)
                #expect(now == own)
                for (begin, end) in [(day, 2 * day), (-2 * day, -day)] {
                    let other = try await found(
                        states,
                        from: begin,
                        to: end,
                        isNewestFirst: isNewestFirst
                    )
                    #expect(other.isEmpty)
                }
            }
        }
    }
}
