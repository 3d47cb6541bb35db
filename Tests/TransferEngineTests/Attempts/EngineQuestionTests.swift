import Foundation
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

/// Tasks that wait for an answer of their client, with a running engine.
@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct EngineQuestionTests {
    @Test func noSocketIsOpenedBeforeTheClientLetsTheTaskBegin() async throws {
        let fixture = try await EngineFixture()
        fixture.origin.when("/file", .response(body: .random(seed: 1, size: 1000)))
        let id = try await fixture.submit(fixture.origin.url("/file")) {
            $0.earliestBeginAt = Date() + 3600
            $0.options.asksToBegin = true
        }
        #expect(try await fixture.task(id).state == .scheduled)
        let begin = try await fixture.makeDueSoon()
        let task = try await fixture.withEngine { _ in
            try await eventually("the client is asked") {
                try await fixture.task(id).state == .waitingToBegin
            }
            #expect(Date() >= begin)
            #expect(fixture.origin.log.now.requests.isEmpty)
            _ = try await fixture.stores.decisions.beginTask(
                tenant: fixture.tenant,
                id: id,
                with: nil
            )
            return try await fixture.ended(id)
        }
        #expect(task.state == .completed)
        #expect(fixture.origin.log.now.requests.count == 1)
    }
}
