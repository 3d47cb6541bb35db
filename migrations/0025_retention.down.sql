DROP INDEX partial_by_source;
DROP TABLE expired_task;
ALTER TABLE session DROP COLUMN result_retention_ms;
