-- The task whose result a copy sends, which is kept until the copy has ended. A row goes with its copy.
CREATE TABLE result_hold (
    -- The copy.
    task_id uuid PRIMARY KEY,
    source_task_id uuid NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.05);

-- Serves the question whether the result of an expiring task is still to be copied.
CREATE INDEX result_hold_by_source ON result_hold (source_task_id);
