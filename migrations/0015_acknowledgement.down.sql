ALTER TABLE subscription DROP COLUMN ack_key, DROP COLUMN ack_timeout_ms;
