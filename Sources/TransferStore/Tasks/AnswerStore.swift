import Foundation
import Postgres
import TransferModel

/// Answers to several questions, of which there may be any number: the tasks continue in pages.
package struct AnswerStore: Sendable {
    let database: Database

    package init(_ database: Database) { self.database = database }
}

extension AnswerStore {
    /// The number of tasks that one transaction lets continue.
    package static let continuedMax = 1000

    /// Lets a page of tasks continue for each answer that more are waiting for.
    ///
    /// An answer that is blocked by others is left for later, and does not delay the rest. Tenants
    /// take turns, as ``WaitingWork`` says.
    ///
    /// - Returns: how many tasks continue; there may be more unless it is zero.
    /// - Throws: why none could.
    package func continueAnswered() async throws(StoreError) -> Int {
        try await WaitingWork.advance(
            "answer",
            by: "id",
            in: database,
            part: continueTasks(of:)
        )
    }

    /// Lets the first page of tasks continue, which for most answers is all of them.
    ///
    /// This never fails: the answer is stored, and ``continueAnswered()`` carries it out later and
    /// throws the reason if that fails.
    func beginContinuing(with answer: UUID) async {
        do throws(StoreError) { _ = try await continueTasks(of: answer) } catch {}
    }

    /// Lets a page of tasks continue, those that have waited longest, and removes the answer with
    /// the last; does nothing while another instance does this.
    ///
    /// - Returns: how many tasks continue.
    private func continueTasks(of answer: UUID) async throws(StoreError) -> Int {
        try await setTime(of: answer)
        let rows = try await database.run([
            database.briefLocks,
            // Before its tasks, as by whoever answers for one of them.
            """
            SELECT 1 FROM session_progress p
            WHERE p.session_id = (SELECT a.session_id FROM answer a WHERE a.id = \(answer))
            FOR UPDATE
            """,
            """
            WITH chosen AS MATERIALIZED (
                SELECT a.* FROM answer a WHERE a.id = \(answer) AND a.answered_at IS NOT NULL
                FOR UPDATE SKIP LOCKED
            ),
            page AS MATERIALIZED (
                SELECT k.task_id FROM chosen a CROSS JOIN LATERAL (
                    SELECT q.task_id FROM asked q
                    WHERE q.session_id = a.session_id AND q.origin = a.origin
                        AND q.attempted_at <= a.answered_at
                    ORDER BY q.attempted_at LIMIT \(Self.continuedMax)
                ) k
                UNION ALL
                SELECT k.task_id FROM chosen a CROSS JOIN LATERAL (
                    SELECT q.task_id FROM asked q
                    WHERE q.tenant_id = a.tenant_id AND q.credential = a.credential
                        AND q.attempted_at <= a.answered_at
                    ORDER BY q.attempted_at LIMIT \(Self.continuedMax)
                ) k
            ),
            -- A credential with a name answers tasks of many sessions.
            counters AS MATERIALIZED (
                SELECT p.session_id FROM session_progress p
                WHERE p.session_id = ANY (ARRAY(
                    SELECT q.session_id FROM asked q
                    WHERE q.task_id = ANY (ARRAY(SELECT k.task_id FROM page k))))
                ORDER BY p.session_id FOR UPDATE
            ),
            -- Whoever asks from now on looks for the answer itself.
            done AS (
                DELETE FROM answer a
                WHERE a.id = (SELECT c.id FROM chosen c)
                    AND (SELECT count(*) FROM page) < \(Self.continuedMax)
            ),
            \(Self.queueAnswered(
                of: "SELECT k.task_id FROM page k WHERE (SELECT count(*) FROM counters) > 0"))
            """,
        ])
        return rows[2].count
    }

    /// Sets the time of an answer, and of its credential, unless it has one.
    ///
    /// Everybody sees the credential by now: an attempt that begins after this time shows it, and
    /// one that began before has its question answered, whether it asks before or after this
    /// transaction, which takes the locks of those who ask. A time that was set with the credential
    /// would be before the start of an attempt that began while that was being stored, and did not
    /// see it.
    private func setTime(of answer: UUID) async throws(StoreError) {
        _ = try await database.run([
            database.briefLocks,
            """
            SELECT pg_advisory_xact_lock(
                \(AdvisoryLock.answers.rawValue), hashtext(a.tenant_id::text))
            FROM answer a
            WHERE a.id = \(answer) AND a.answered_at IS NULL AND a.credential IS NOT NULL
            """,
            """
            SELECT 1 FROM session_progress p
            WHERE p.session_id = (
                SELECT a.session_id FROM answer a
                WHERE a.id = \(answer) AND a.answered_at IS NULL)
            FOR UPDATE
            """,
            """
            WITH timed AS (
                UPDATE answer a SET answered_at = clock_timestamp()
                WHERE a.id = \(answer) AND a.answered_at IS NULL
                RETURNING a.answered_at, a.tenant_id, a.session_id, a.origin, a.credential
            ),
            given_row AS (
                UPDATE session_credential s SET updated_at = a.answered_at FROM timed a
                WHERE s.session_id = ANY (ARRAY[a.session_id]) AND s.origin = ANY (ARRAY[a.origin])
            )
            UPDATE credential c SET updated_at = a.answered_at
            FROM timed a CROSS JOIN LATERAL (
                SELECT x.id FROM credential x
                WHERE x.tenant_id = a.tenant_id AND x.name = a.credential COLLATE "C" LIMIT 1
            ) k
            WHERE c.id = ANY (ARRAY[k.id])
            """,
        ])
    }

    /// Returns the statements that let tasks continue which have just asked, if the answer came
    /// while the attempt was still running, or they are to show another credential by now.
    ///
    /// The last is read after the statement that asked, which holds the locks of the sessions'
    /// counters, and after the others: either it sees the answer, or whoever answers sees the
    /// question. A change of a session is seen, or comes after the whole transaction.
    static func continueAnswered(_ tasks: [UUID]) -> [Query] {
        [
            """
            SELECT pg_advisory_xact_lock_shared(
                \(AdvisoryLock.answers.rawValue), hashtext(k.tenant_id::text))
            FROM (
                SELECT DISTINCT q.tenant_id FROM asked q
                WHERE q.task_id = ANY (\(tasks)) AND q.credential IS NOT NULL
            ) k
            """,
            """
            SELECT 1 FROM session s
            WHERE s.id = ANY (ARRAY(
                SELECT q.session_id FROM asked q WHERE q.task_id = ANY (\(tasks))))
            ORDER BY s.id FOR SHARE
            """,
            continueAnswered(of: "SELECT unnest(\(tasks))", orIf: hasAnotherCredential),
        ]
    }

    /// Whether the task of a question `q` names another credential than its attempt was to show, or
    /// its session does for it.
    private static let hasAnotherCredential: Query = """
        (SELECT coalesce(t.options->>'credential', s.options->>'credential')
                IS DISTINCT FROM q.credential
            FROM task t JOIN session s ON s.id = ANY (ARRAY[t.session_id])
            WHERE t.id = ANY (ARRAY[q.task_id]))
        """

    /// Returns the statement that lets those of `tasks` continue whose questions are answered, or
    /// for which `change` is true, so that they show another credential.
    static func continueAnswered(of tasks: Query, orIf change: Query = "false") -> Query {
        """
        WITH question AS MATERIALIZED (
            SELECT q.task_id, q.session_id, q.origin, \(change) AS is_changed,
                (SELECT s.updated_at > q.attempted_at FROM session_credential s
                    WHERE s.session_id = q.session_id AND s.origin = q.origin) AS is_given,
                (SELECT c.updated_at > q.attempted_at FROM credential c
                    WHERE c.tenant_id = q.tenant_id AND c.name = q.credential COLLATE "C")
                    AS is_replaced
            FROM asked q
            WHERE q.task_id = ANY (ARRAY(\(tasks))) AND q.question = 'authentication'
        ),
        refused AS MATERIALIZED (
            SELECT session_id, origin FROM question WHERE is_changed AND is_given IS NOT true
        ),
        \(forgetGiven(to: "refused")),
        \(queueAnswered(of: """
            SELECT task_id FROM question WHERE is_changed OR is_given OR is_replaced
            """))
        """
    }

    /// Returns the CTEs that forget the credentials which clients gave for the origins of
    /// `questions`(session_id, origin): what a task is told now counts, and not what was answered
    /// before.
    static func forgetGiven(to questions: Query) -> Query {
        """
        forgotten AS (
            DELETE FROM session_credential s USING \(questions) q
            WHERE s.session_id = ANY (ARRAY[q.session_id]) AND s.origin = q.origin
            RETURNING s.credential_id
        ),
        forgotten_secret AS (
            DELETE FROM credential c USING forgotten f
            WHERE c.id = ANY (ARRAY[f.credential_id]) AND c.name IS NULL
        )
        """
    }

    /// Returns the rest of a statement that lets `tasks` continue which wait for a credential, and
    /// answers with them.
    private static func queueAnswered(of tasks: Query) -> Query {
        """
        begun AS (
            DELETE FROM asked q USING task t
            WHERE q.task_id = ANY (ARRAY(\(tasks))) AND q.question = 'authentication'
                AND t.id = ANY (ARRAY[q.task_id])
            RETURNING q.task_id, q.session_id, t.host_key, t.priority_rank, q.attempt, q.began_at,
                \(CountStore.state(ofAsked: "q")) AS state
        ),
        \(QuestionStore.queueAnswered)
        SELECT task_id FROM begun
        """
    }

    /// Orders the rest of a transaction that changes a named credential against the questions of
    /// the tenant's tasks.
    static func lockQuestions(of tenant: TenantID) -> Query {
        """
        SELECT pg_advisory_xact_lock(
            \(AdvisoryLock.answers.rawValue), hashtext(\(tenant.uuid)::text))
        """
    }

    /// Returns the statement that stores a changed credential as an answer.
    ///
    /// Tasks that do not wait for it yet may have been refused with the one before.
    static func storeAnswer(_ answer: UUID, credential name: String, of tenant: TenantID) -> Query {
        """
        INSERT INTO answer (id, tenant_id, credential)
        SELECT \(answer), c.tenant_id, c.name FROM credential c
        WHERE c.tenant_id = \(tenant.uuid) AND c.name = \(name) COLLATE "C"
        """
    }
}
