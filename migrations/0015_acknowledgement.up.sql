-- Makes the tokens by which a subscriber says later than in its answer that it has done what
-- session.events_finished asked for. A token needs no row: it is told from the key and the event.
ALTER TABLE subscription
    ADD COLUMN ack_key bytea NOT NULL
        DEFAULT uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())
        CHECK (octet_length(ack_key) = 32),
    -- How long it may take; then the message is sent again.
    ADD COLUMN ack_timeout_ms bigint NOT NULL DEFAULT 600000
        CHECK (ack_timeout_ms BETWEEN 1000 AND 86400000);
