-- What was asked is forgotten; the tasks go back to the queue.
INSERT INTO ready (lane, priority_rank, task_id, attempt, began_at)
SELECT t.lane, t.priority_rank, a.task_id, a.attempt, a.began_at
FROM asked a JOIN task t ON t.id = a.task_id;
DROP TABLE asked;

DROP INDEX delayed_due_asking;
DROP INDEX delayed_due;
ALTER TABLE delayed DROP COLUMN asks_to_begin;
CREATE INDEX delayed_due ON delayed (due_at);

-- A value cannot be taken out of a type; a new type takes its place.
UPDATE event SET task_state = 'queued'
WHERE task_state IN ('waiting_to_begin', 'waiting_for_authentication');
ALTER TYPE task_state RENAME TO task_state_old;
CREATE TYPE task_state AS ENUM (
    'suspended', 'scheduled', 'queued', 'running', 'waiting_for_retry',
    'waiting_for_connectivity', 'completed', 'failed', 'cancelled'
);
ALTER TABLE event ALTER COLUMN task_state TYPE task_state USING task_state::text::task_state;
ALTER TABLE outcome
    DROP CONSTRAINT outcome_state_check,
    DROP CONSTRAINT outcome_check,
    DROP CONSTRAINT outcome_check1;
ALTER TABLE outcome ALTER COLUMN state TYPE task_state USING state::text::task_state;
ALTER TABLE outcome
    ADD CONSTRAINT outcome_state_check CHECK (state IN ('completed', 'failed', 'cancelled')),
    ADD CONSTRAINT outcome_check CHECK ((state = 'completed') = (is_length_verified IS NOT NULL)),
    ADD CONSTRAINT outcome_check1 CHECK ((state = 'failed') = (failure IS NOT NULL));
DROP TYPE task_state_old;
