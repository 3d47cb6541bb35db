DELETE FROM event WHERE details IS NOT NULL;
ALTER TABLE event DROP COLUMN details;
DROP TABLE delivery_attempt;
DROP TABLE delivery_log;
DROP TABLE failure_streak;
