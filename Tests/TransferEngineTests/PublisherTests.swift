import EventLoop
import Foundation
import Logging
import Postgres
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

    /// Whether anybody needs the file is asked until the database answers.
    @Test func aConnectionThatBreaksLeavesNoFileOfNobody() async throws {
        let fixture = try await EngineFixture()
        _ = try await fixture.submit(fixture.origin.url("/never"))
        let identity = WorkerIdentity(
            incarnation: try await fixture.store.registerWorker(name: "test")
        )
        let claim = try #require(try await fixture.store.claimAny(1, by: identity).first)
        let container = try Container(directory: fixture.directory)
        let place = Container.Place(
            partOf: claim.task,
            destination: nil,
            fence: claim.fence,
            tenant: claim.tenant
        )
        let part = try PartFile(place, fence: claim.fence, in: container)
        _ = try await fixture.store.cancelTask(tenant: fixture.tenant, id: claim.task)
        // The first that is done to this table is the end of the attempt, the second the question.
        let connection = try await TestDatabase.current.connection()
        _ = try await connection.execute("CREATE SEQUENCE turn")
        _ = try await connection.execute(
            """
            CREATE FUNCTION break_off() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                IF nextval('turn') = 2 THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF;
                RETURN NULL;
            END $$
            """
        )
        _ = try await connection.execute(
            """
            CREATE TRIGGER break_off BEFORE DELETE ON partial
            FOR EACH STATEMENT EXECUTE FUNCTION break_off()
            """
        )
        let publisher = Publisher(
            loop: try EventLoop(name: "publisher"),
            store: fixture.store,
            container: container,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            onConcluded: { _ in }
        )
        publisher.submit(
            .conclusion(
                Conclusion(task: claim.task, fence: claim.fence, verdict: .released),
                part: part
            )
        )
        let running = Task { await publisher.run() }
        try await eventually("it has ended") { publisher.backlog == 0 }
        running.cancel()
        await running.value
        let turns = try await connection.execute("SELECT last_value FROM turn")
        #expect(try turns[0].decode("last_value", as: Int64.self) == 3)
        #expect(fixture.files().isEmpty)
    }
}
