ALTER TABLE subscription ADD COLUMN secret bytea;
UPDATE subscription b SET secret = k.secret
FROM signing_secret k WHERE k.subscription_id = b.id AND k.expires_at IS NULL;
ALTER TABLE subscription ALTER COLUMN secret SET NOT NULL,
    ADD CHECK (octet_length(secret) BETWEEN 24 AND 64);
DROP TABLE signing_secret;
ALTER TABLE subscription RENAME COLUMN event_types TO kinds;
ALTER TABLE subscription
    DROP COLUMN description, DROP COLUMN headers, DROP COLUMN concurrency, DROP COLUMN rate_limit,
    DROP COLUMN disabled_at, DROP COLUMN disabled_reason;
