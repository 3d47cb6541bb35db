DROP INDEX delivery_log_replay_of;
DROP INDEX delivery_log_by_state;
DROP INDEX outcome_failed;
