-- runs beside: 0016
-- The removal of tenants with everything that they own.

-- When an operator decided to remove the tenant; it has no good key from then on, and gave up its
-- name. NULL for all others.
ALTER TABLE tenant ADD removed_at timestamptz;

-- Serves every worker, which looks for such tenants every few seconds.
CREATE INDEX tenant_removed ON tenant (id) WHERE removed_at IS NOT NULL;
