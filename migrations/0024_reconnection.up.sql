-- Who has taken a task over when its client reconnected. A task that was never reconnected has no
-- row.
CREATE TABLE task_owner (
    task_id uuid PRIMARY KEY,
    tenant_id uuid NOT NULL,
    -- Of one reconnection; told to nobody else.
    lease_token uuid NOT NULL,
    -- The name that the client has given itself, for people.
    owner text CHECK (octet_length(owner) BETWEEN 1 AND 255),
    -- NULL: the task is not given out again.
    expires_at timestamptz
);

-- Serves the renewal and the release of a lease.
CREATE INDEX task_owner_by_lease ON task_owner (lease_token);

-- The container that an extension shares with the app that adopts its sessions.
ALTER TABLE session ADD COLUMN shared_container_identifier text
    CHECK (octet_length(shared_container_identifier) BETWEEN 1 AND 64);
