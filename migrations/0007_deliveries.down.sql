DROP FUNCTION subscriptions_to(uuid[], bigint[]);
DROP TABLE wake_up, delivery_attempt, delivery_log, failure_streak, delivery_restart, delivery,
    signing_secret, subscription;

-- Kept answers would tell of subscriptions that are there no longer.
DELETE FROM idempotency_key;
