import Postgres
import TransferModel

/// The moves of tasks between their URLs, as an array per column; a table of their own, because few
/// ends are one, and a statement without any has no part for them.
struct MirrorMoveColumns {
    /// The place of each move's end among all ends.
    private var places: [Int64] = []
    private var ranks: [Int16] = []
    private var hostKeys: [Int64] = []
    private var givenUp: [Int16] = []
    private var areOffline: [Bool] = []
    private var restsMS: [Int64?] = []

    mutating func append(_ move: MirrorMove, place: Int64) {
        places.append(place)
        ranks.append(Int16(move.place.rank))
        hostKeys.append(move.host.rawValue)
        givenUp.append(move.place.givenUp.reduce(0) { $0 | 1 << Int16($1) })
        areOffline.append(move.place.isOffline)
        restsMS.append(move.place.rest > .zero ? move.place.rest.milliseconds : nil)
    }
}

/// Parts of ``CompletionStore/attemptEnd(of:)``.
extension MirrorMoveColumns {
    /// The columns that say where a task `t` goes on, with the join ``join``.
    var selected: Query {
        places.isEmpty
            ? "t.host_key"
            : """
            coalesce(m.host_key, t.host_key) AS host_key, t.host_key AS former_host_key, m.rank,
            m.given_up, m.is_offline, m.rest_ms
            """
    }

    /// The join of the moves `m` to the ends `e`.
    var join: Query {
        places.isEmpty
            ? ""
            : """
            LEFT JOIN unnest(
                \(places), \(ranks), \(hostKeys), \(givenUp), \(areOffline), \(restsMS)
            ) AS m (place, rank, host_key, given_up, is_offline, rest_ms) ON m.place = e.place
            """
    }

    /// The CTEs that store where tasks of `gone` have moved; expects `counter`.
    var storing: Query {
        places.isEmpty
            ? ""
            : """
            mirror_row AS (
                INSERT INTO task_mirror (
                    task_id, rank, url_host_key, given_up, is_offline, rests_until)
                SELECT task_id, rank, former_host_key, given_up, is_offline,
                    clock_timestamp() + rest_ms * interval '1 ms'
                FROM gone WHERE rank IS NOT NULL
                ON CONFLICT (task_id) DO UPDATE SET rank = excluded.rank,
                    given_up = excluded.given_up, is_offline = excluded.is_offline,
                    rests_until = excluded.rests_until
            ),
            host_row AS (
                UPDATE task t SET host_key = g.host_key
                FROM gone g
                WHERE t.id = ANY (ARRAY[g.task_id]) AND t.host_key <> g.host_key
                    -- Whoever changes a task has its session's lock before that of its row.
                    AND (SELECT count(*) FROM counter) >= 0
            ),
            """
    }
}
