DROP INDEX asked_by_session;
ALTER TABLE session_progress DROP COLUMN is_pending_told;
