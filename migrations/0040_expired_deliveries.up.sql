-- No older program runs beside it: it could not read the event `subscription.events_expired`.
--
-- Events that were kept no longer when they were to be delivered: `sequence` is the last of them and
-- `batch_first` the first, and they never were a message, so that there is no `batch_id`.
ALTER TABLE delivery_log
    DROP CONSTRAINT delivery_log_state_check,
    ADD CONSTRAINT delivery_log_state_check
        CHECK (state IN ('waiting', 'delivered', 'dead', 'expired')),
    DROP CONSTRAINT delivery_log_check,
    ADD CONSTRAINT delivery_log_check
        CHECK (state NOT IN ('dead', 'expired') OR died_at IS NOT NULL),
    DROP CONSTRAINT delivery_log_check2,
    ADD CONSTRAINT delivery_log_check2
        CHECK ((batch_id IS NULL AND state <> 'expired') = (batch_first IS NULL));
