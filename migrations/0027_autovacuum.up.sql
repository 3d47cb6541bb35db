-- Tables through which rows pass are vacuumed after few of them, without pauses: what is dead lies in
-- the way of whoever reads next.
-- held: a row for each suspended task, deleted when it is resumed.
ALTER TABLE held SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
-- revocation, abandoned_part: mostly empty, read several times a second by each worker.
ALTER TABLE revocation SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
ALTER TABLE abandoned_part
    SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
-- idempotency_key: all of it is replaced each day.
ALTER TABLE idempotency_key SET (autovacuum_vacuum_scale_factor = 0.05);
-- worker: a few rows, each updated every three seconds in place; half of a page may be dead.
ALTER TABLE worker SET (autovacuum_vacuum_threshold = 200, autovacuum_vacuum_cost_delay = 0);

-- Tables that grow, and lose their oldest rows to retention: a fifth of one, the default, would be
-- tens of millions of dead rows. They are large, so that the pauses stay. Where rows are only added,
-- the visibility map has to follow, or each look at an index visits the table.
ALTER TABLE task
    SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05);
ALTER TABLE outcome
    SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05);
ALTER TABLE attempt_log
    SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05);
ALTER TABLE expired_task
    SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05);
-- task_owner, delivery_log, delivery_attempt: rows of some tasks and of what went wrong alone; the
-- same holds.
ALTER TABLE task_owner SET (autovacuum_vacuum_scale_factor = 0.05);
ALTER TABLE delivery_log SET (autovacuum_vacuum_scale_factor = 0.05);
ALTER TABLE delivery_attempt SET (autovacuum_vacuum_scale_factor = 0.05);
-- event has no dead rows: its partitions are dropped as a whole, and are vacuumed by what is added,
-- as the defaults say. attempt, publication, ready, delayed, asked, partial, delivery and
-- session_progress have had theirs from the begin.
