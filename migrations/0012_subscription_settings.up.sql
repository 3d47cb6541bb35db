-- What a subscription's owner may change at any time. Only messages that are sent afterwards differ.
ALTER TABLE subscription
    ADD COLUMN description text CHECK (octet_length(description) <= 1000),
    -- Sent with every message; their values are secrets.
    ADD COLUMN headers jsonb NOT NULL DEFAULT '[]',
    -- Sessions delivered at once and messages a second, by each instance; NULL: the service's bound.
    ADD COLUMN concurrency smallint CHECK (concurrency BETWEEN 1 AND 16),
    ADD COLUMN rate_limit smallint CHECK (rate_limit BETWEEN 1 AND 1000),
    -- Nothing is sent while it is disabled; its events wait, and go on in order when it is enabled.
    ADD COLUMN disabled_at timestamptz,
    ADD COLUMN disabled_reason text CHECK (disabled_reason IN ('client', 'gone', 'failing')),
    ADD CHECK ((disabled_at IS NULL) = (disabled_reason IS NULL));

-- Kinds as before, and families of them such as 'task.*'.
ALTER TABLE subscription RENAME COLUMN kinds TO event_types;

-- Truth plane: the keys that sign. A message is signed with all that have not expired, so that a
-- receiver can change over from one to the next whenever it likes.
CREATE TABLE signing_secret (
    subscription_id uuid NOT NULL REFERENCES subscription (id),
    number integer NOT NULL CHECK (number > 0),
    secret bytea NOT NULL CHECK (octet_length(secret) BETWEEN 24 AND 64),
    -- NULL for the newest, which has no end yet.
    expires_at timestamptz,
    -- Serves the claim of deliveries, which reads a subscription's keys.
    PRIMARY KEY (subscription_id, number)
);

-- Two rotations at once leave one newest key.
CREATE UNIQUE INDEX signing_secret_newest ON signing_secret (subscription_id)
    WHERE expires_at IS NULL;

INSERT INTO signing_secret (subscription_id, number, secret) SELECT id, 1, secret FROM subscription;
ALTER TABLE subscription DROP COLUMN secret;
