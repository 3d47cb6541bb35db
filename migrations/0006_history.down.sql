-- The weeks go with their tables. Sessions count their events on: the numbers of those that are
-- gone are told to be gone, as after the retention.
DROP VIEW event;
DROP TABLE attempt_log, retried_failure, expired_task, client_string_change, event_run;
