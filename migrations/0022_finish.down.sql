ALTER TABLE session_progress DROP COLUMN is_finishing;
