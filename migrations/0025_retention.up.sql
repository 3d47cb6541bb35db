-- How long an ended task of the session is kept, if not as long as the service says.
ALTER TABLE session ADD COLUMN result_retention_ms bigint CHECK (result_retention_ms > 0);

-- What events still tell of a task that is kept no longer; it goes with the last of them. A row of
-- its own, so that nothing that reads tasks has to walk past those that are gone.
CREATE TABLE expired_task (
    task_id uuid PRIMARY KEY,
    session_id uuid NOT NULL,
    tenant_id uuid NOT NULL,
    generation bigint NOT NULL,
    finished_at timestamptz NOT NULL,
    -- Of a failed task, for the summary of its generation.
    failure_code text,
    client_string bytea CHECK (octet_length(client_string) <= 65536)
);

-- Serves the removal of those that no event tells of.
CREATE INDEX expired_task_by_generation ON expired_task (session_id, generation);
-- Serves the failed tasks in the summary of a generation.
CREATE INDEX expired_task_failed ON expired_task (session_id, generation, task_id)
    WHERE failure_code IS NOT NULL;

-- Serves the question whether the part file of an expiring task has been lent to another one.
CREATE INDEX partial_by_source ON partial (source_task_id) WHERE source_task_id IS NOT NULL;
