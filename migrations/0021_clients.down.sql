-- Possible as long as no two clients of a tenant have sessions of one identifier.
UPDATE outcome SET failure = NULL WHERE state = 'cancelled';
ALTER TABLE outcome DROP CONSTRAINT outcome_failure_check;
ALTER TABLE outcome ADD CONSTRAINT outcome_check1
    CHECK ((state = 'failed') = (failure IS NOT NULL));
ALTER TABLE subscription DROP COLUMN client;
ALTER TABLE session_progress DROP COLUMN is_force_quit;
DROP INDEX session_by_client;
DROP INDEX session_living_identifier;
CREATE UNIQUE INDEX session_living_identifier
    ON session (tenant_id, identifier COLLATE "C") WHERE invalidated_at IS NULL;
ALTER TABLE session DROP COLUMN client;
DROP TABLE force_quit;
DROP TABLE client;
