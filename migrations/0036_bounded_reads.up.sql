-- Serves the failed tasks that the end of a generation names: those of that generation alone, from its
-- first. Written as no look-up of a state is, so that no plan takes one index for the other.
CREATE INDEX outcome_failed ON outcome (session_id, generation, task_id)
    WHERE (state = 'failed') IS TRUE;

-- Serves the logged deliveries of a subscription by their state, and the dead that are to be sent again.
CREATE INDEX delivery_log_by_state ON delivery_log (subscription_id, state, id);

-- Serves the deliveries of one subscription that are to be sent again, when it wants them no more.
CREATE INDEX delivery_log_replay_of ON delivery_log (subscription_id)
    WHERE replay_due_at IS NOT NULL;
