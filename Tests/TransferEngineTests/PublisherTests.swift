import EventLoop
import Foundation
import Logging
import Testing
import TransferContainer
import TransferModel
import TransferStore
import TransferTestSupport

@testable import TransferEngine

@Suite(.postgresSchema, .timeLimit(.minutes(5)))
struct PublisherTests {
    @Test func anEndThatTheDatabaseRefusesHoldsNoOtherBack() async throws {
        let fixture = try await EngineFixture()
        var ids: [TaskID] = []
        for _ in 0..<5 { ids.append(try await fixture.submit(fixture.origin.url("/never"))) }
        let identity = WorkerIdentity(
            incarnation: try await fixture.store.registerWorker(name: "test")
        )
        let claims = try await fixture.store.claimAny(5, by: identity)
        let publisher = Publisher(
            loop: try EventLoop(name: "publisher"),
            store: fixture.store,
            container: try Container(directory: fixture.directory),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            onConcluded: { _ in }
        )
        for (index, claim) in claims.enumerated() {
            // PostgreSQL's jsonb cannot hold NUL.
            let message = index == 2 ? "\u{0}" : "The worker died."
            publisher.submit(
                .conclusion(
                    Conclusion(
                        task: claim.task,
                        fence: claim.fence,
                        verdict: .failed(TransferFailure(.poison, message))
                    ),
                    part: nil
                )
            )
        }
        let running = Task { await publisher.run() }
        try await eventually("everything was tried") { publisher.backlog == 0 }
        running.cancel()
        await running.value
        var states: [TransferState] = []
        for claim in claims { states.append(try await fixture.task(claim.task).state) }
        #expect(states == [.failed, .failed, .running, .failed, .failed])
    }
}
