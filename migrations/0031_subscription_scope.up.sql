-- Another word for what `deleted_at` says, so that the look-ups below can use their own index alone: a
-- plan made while the table was almost empty takes subscription_living, and reads all of a tenant's.
ALTER TABLE subscription ADD COLUMN is_living boolean NOT NULL
    GENERATED ALWAYS AS (deleted_at IS NULL) STORED;

-- Serves the look-ups of who wants an event, in the transaction that writes it: the subscriptions of the
-- whole tenant, of the client, and of the session.
CREATE INDEX subscription_by_scope
    ON subscription (tenant_id, client, session_identifier COLLATE "C", id) WHERE is_living;
