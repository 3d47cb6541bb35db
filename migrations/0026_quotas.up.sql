-- How many tasks of the tenant may be outstanding; NULL for any number.
ALTER TABLE tenant ADD COLUMN outstanding_tasks_max bigint CHECK (outstanding_tasks_max > 0);

-- Serves the sum of a tenant's outstanding tasks and the count of its sessions, without those that
-- have ended.
CREATE INDEX session_living ON session (tenant_id, id) WHERE invalidated_at IS NULL;
