import Postgres
import TransferModel

/// SQL for the logs of sessions: rows of `event_run`, each with the events of one kind that one
/// statement wrote of one session.
enum EventRuns {
    /// The maximum number of events in a run; with that many a row is about half a page.
    static let lengthMax = 128

    /// Returns the permanently unique identifier of the event `sequence` in a run `r`, a UUID of
    /// version 8 (RFC 9562 §5.8).
    static func identifier(ofEvent sequence: Query) -> Query {
        """
        overlay(overlay(encode(substring(sha256(uuid_send(r.session_id)
            || int8send(\(sequence)) || timestamptz_send(r.occurred_at)) FOR 16), 'hex')
            PLACING '8' FROM 13 FOR 1) PLACING '8' FROM 17 FOR 1)::uuid
        """
    }

    /// Returns the query for `columns` of the run `r` that holds the event `sequence` of a session;
    /// no row if the event is kept no longer.
    static func select(_ columns: Query, of session: Query, holding sequence: Query) -> Query {
        """
        SELECT \(columns) FROM (
            \(selectRuns(of: session, after: "\(sequence) - 1")) LIMIT 1
        ) r
        WHERE r.first_sequence <= \(sequence)
        """
    }

    /// Returns the query for `columns` of the run `r` with a session's oldest event behind
    /// `sequence`; no row if there is none.
    static func selectOldest(
        _ columns: Query,
        of session: Query,
        after sequence: Query = "0"
    ) -> Query {
        "SELECT \(columns) FROM (\(selectRuns(of: session, after: sequence)) LIMIT 1) r"
    }

    private static func selectRuns(of session: Query, after sequence: Query) -> Query {
        """
        -- No caller has this alias: its own aliases may stand in the conditions.
        SELECT one_run.session_id, one_run.first_sequence, one_run.last_sequence, one_run.kind,
            one_run.generation, one_run.occurred_at
        FROM event_run one_run
        WHERE one_run.session_id = \(session) AND one_run.last_sequence > \(sequence)
        ORDER BY one_run.last_sequence
        """
    }

    /// Returns the query for a session's events behind `sequence`, in sequence.
    ///
    /// It reads no more runs than the page needs: they are expanded in the order in which they are
    /// read, and `LIMIT` ends both.
    static func selectEvents(of session: Query, after sequence: Query, limit: Query) -> Query {
        """
        SELECT \(columns)
        FROM (
            SELECT x.* FROM event_run x
            WHERE x.session_id = \(session) AND x.last_sequence > \(sequence)
            ORDER BY x.last_sequence LIMIT \(limit)
        ) r
        CROSS JOIN LATERAL generate_series(
            greatest(r.first_sequence, \(sequence) + 1), r.last_sequence) AS k (sequence)
        \(joinPlace)
        ORDER BY r.last_sequence, k.sequence LIMIT \(limit)
        """
    }

    /// The columns of the event `k.sequence` of a run `r`, which is at `p.place` in it.
    static let columns: Query = """
        \(identifier(ofEvent: "k.sequence")) AS id, r.session_id, k.sequence, r.kind,
            r.generation, r.occurred_at, r.task_ids[p.place] AS task_id, r.task_state,
            coalesce(r.attempts[p.place], 0::smallint) AS attempt,
            coalesce(r.bytes_received[p.place], 0) AS bytes_received,
            r.bytes_expected[p.place] AS bytes_expected, r.bytes_sent[p.place] AS bytes_sent,
            r.bytes_to_send[p.place] AS bytes_to_send, r.failures[p.place] AS failure, r.summary,
            r.details
        """

    /// The join of ``columns`` with the place.
    static let joinPlace: Query = """
        CROSS JOIN LATERAL (SELECT (k.sequence - r.first_sequence + 1)::int AS place) p
        """
}
