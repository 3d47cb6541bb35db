-- A host that cannot be reached at all is no failure of the tasks that wait for it.
ALTER TYPE task_state ADD VALUE 'waiting_for_connectivity' AFTER 'waiting_for_retry';
ALTER TABLE delayed ADD COLUMN awaits_host boolean NOT NULL DEFAULT false;

-- Serves the release of those that wait for a host which has been reached again.
CREATE INDEX delayed_awaiting_host ON delayed (lane) WHERE awaits_host;
