-- What a message holds: one event, or the next events of a session together.
ALTER TABLE subscription
    ADD COLUMN delivery_form text NOT NULL DEFAULT 'single'
        CHECK (delivery_form IN ('single', 'batch'));

-- The last event of the batch that is tried again, so that it holds the same events although others
-- have come meanwhile; NULL while the next message is tried for the first time, or has one event.
ALTER TABLE delivery ADD COLUMN batch_through bigint;

-- The message of a batch: its identifier, its first event and how many it holds. `sequence` is its last.
ALTER TABLE delivery_log
    ADD COLUMN batch_id uuid,
    ADD COLUMN batch_first bigint CHECK (batch_first BETWEEN 1 AND sequence),
    ADD COLUMN event_count integer NOT NULL DEFAULT 1 CHECK (event_count > 0),
    ADD CHECK ((batch_id IS NULL) = (batch_first IS NULL));
