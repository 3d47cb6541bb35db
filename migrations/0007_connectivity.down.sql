DROP INDEX delayed_awaiting_host;
ALTER TABLE delayed DROP COLUMN awaits_host;

-- A value cannot be taken out of a type; a new type takes its place.
UPDATE event SET task_state = 'waiting_for_retry' WHERE task_state = 'waiting_for_connectivity';
ALTER TYPE task_state RENAME TO task_state_old;
CREATE TYPE task_state AS ENUM (
    'suspended', 'scheduled', 'queued', 'running', 'waiting_for_retry',
    'completed', 'failed', 'cancelled'
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
