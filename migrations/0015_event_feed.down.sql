-- Positions are lost with the feed: who names one later is told that its events have expired, or
-- gets others.
DELETE FROM task_move WHERE from_state IS NULL AND to_state IS NULL;
DROP TABLE feed_session, feed_tenant, event_feed;
