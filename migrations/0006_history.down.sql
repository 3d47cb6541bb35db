-- The weeks go with their tables. Sessions count their events on: the numbers of those that are
-- gone are told to be gone, as after the retention. Positions of the feed are lost: who names one
-- later is told that its events have expired, or gets others.
DROP VIEW event;
DROP TABLE feed_session, feed_tenant, event_feed;
DROP TABLE attempt_log, retried_failure, expired_task, client_string_change, event_run;
