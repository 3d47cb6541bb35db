DROP INDEX session_living;
ALTER TABLE tenant DROP COLUMN outstanding_tasks_max;
