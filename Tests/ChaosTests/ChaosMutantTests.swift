import PollLoop
import Foundation
import Postgres
import Testing
import TransferTestSupport

/// Wrongs inflicted on a running service, all of which the checker has to notice.
@Suite(.serialized) struct ChaosMutantTests {
    /// Three sessions with work and no fault at all.
    private static let quiet = ChaosPlan(
        steps: ChaosPlan.sessions.indices.map { session in
            ChaosPlan.Step(
                session: session,
                tasks: (0..<3).map { index in
                    ChaosTask(
                        kind: index == 2 ? .post : .download,
                        origin: .whole,
                        path: "/\(session)/\(index)",
                        destination: index == 1 ? "\(session)/d" : nil,
                        bytes: 20_000
                    )
                },
                controls: [],
                changesFiles: false,
                invalidates: false,
                fault: nil
            )
        }
    )

    @Test(.timeLimit(.minutes(5)))
    func whatIsDoneToARunningServiceIsSeen() async throws {
        let run = try await ChaosRun(Self.quiet)
        try await run.pass()
        try await run.settle()
        let database = "host=\(run.fleet.directory.path)/run user=transferd dbname=postgres"
        let loop = try PollLoop(name: "mutants")
        defer { loop.stop() }
        let connection = try await Connection.open(
            ConnectionConfiguration(url: database),
            on: loop
        )
        for mutant in Self.statements { try await connection.executeScript(mutant) }
        await connection.close()
        let directory = run.fleet.directory
        let torn = try #require(directory.files().keys.first { $0.hasSuffix("/2/d") })
        let file = "\(directory.path)/containers/\(torn)"
        var bytes = try Data(contentsOf: URL(filePath: file))
        bytes[bytes.count / 2] ^= 1
        try bytes.write(to: URL(filePath: file))
        // Like a worker that forgets what it has sent.
        try await run.postOnceMore("/1/2")

        let violations = ChaosChecker.violations(of: try await run.history())
        let rules = Set(violations.map(\.rule))
        for rule in Self.broken { #expect(rules.contains(rule), "\(violations)") }
    }

    private static let broken: [ChaosChecker.Rule] = [
        .eventsHaveNoGaps, .eachAcceptedTaskEndsOnce, .aGenerationEndsOnceAndLast,
        .whatIsCompletedHasTheBytesOfItsOrigin, .aPostIsSentOnce, .countsAreRight,
        .nothingIsFoundByVerify,
    ]

    private static let statements = [
        Query.splitEventRuns.sql,
        // A lost event; one that is there twice under one number is delivered once.
        """
        DELETE FROM event_run e USING session s
        WHERE s.id = e.session_id AND s.identifier = 'one' AND e.last_sequence = 2
        """,
        // An end under a fence that was taken away, and so after the end of its generation.
        """
        WITH next AS (
            UPDATE session_progress p SET last_sequence = p.last_sequence + 1
            FROM session s WHERE s.id = p.session_id AND s.identifier = 'two'
            RETURNING p.session_id, p.last_sequence
        )
        INSERT INTO event_run (session_id, last_sequence, first_sequence, kind, generation,
            task_ids, task_state, attempts, bytes_received)
        SELECT n.session_id, n.last_sequence, n.last_sequence, e.kind, e.generation, e.task_ids,
            e.task_state, e.attempts, e.bytes_received
        FROM next n CROSS JOIN LATERAL (
            SELECT * FROM event_run e WHERE e.session_id = n.session_id AND e.kind = 'task.completed'
            LIMIT 1) e
        """,
        // An early barrier: before the last end of its generation.
        """
        WITH last AS (
            SELECT s.id, p.last_sequence FROM session s JOIN session_progress p ON p.session_id = s.id
            WHERE s.identifier = 'three'
        ),
        away AS (
            UPDATE event_run e SET first_sequence = e.first_sequence + 1000,
                last_sequence = e.last_sequence + 1000
            FROM last l
            WHERE e.session_id = l.id AND e.last_sequence >= l.last_sequence - 1
        )
        SELECT 1
        """,
        """
        UPDATE event_run e SET first_sequence = k.sequence, last_sequence = k.sequence
        FROM session s JOIN session_progress p ON p.session_id = s.id
        CROSS JOIN LATERAL (VALUES
            (1000 + p.last_sequence, p.last_sequence - 1),
            (999 + p.last_sequence, p.last_sequence)) k (away, sequence)
        WHERE s.identifier = 'three' AND e.session_id = s.id AND e.last_sequence = k.away
        """,
        // A task that is counted twice.
        """
        UPDATE session_task_count c SET tasks = c.tasks + 1 FROM session s
        WHERE s.id = c.session_id AND s.identifier = 'one' AND c.state = 'completed'
        """,
    ]
}
