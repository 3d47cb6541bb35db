-- Mirrors: further URLs of the files of downloads.

-- Where a download with mirrors stands that has ever left its URL. The row in `task` has its URLs as
-- they were given, and the host of the one that it asks.
CREATE TABLE task_mirror (
    task_id uuid PRIMARY KEY,
    -- The URL that is asked: a mirror, from 1, or the task's own.
    rank smallint NOT NULL CHECK (rank BETWEEN 0 AND 8),
    -- The host of the task's own URL.
    url_host_key bigint NOT NULL,
    -- The URLs that are not asked again, a bit for each rank.
    given_up smallint NOT NULL CHECK (given_up BETWEEN 0 AND 511),
    -- No host that was asked in this round could be reached.
    is_offline boolean NOT NULL,
    -- Until when a server of this round has asked not to be asked again; NULL if none has.
    rests_until timestamptz
) WITH (autovacuum_vacuum_scale_factor = 0.05);
