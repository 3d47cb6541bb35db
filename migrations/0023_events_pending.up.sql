-- Whether the client has been told that tasks of the session need it, and was not heard of since.
ALTER TABLE session_progress ADD COLUMN is_pending_told boolean NOT NULL DEFAULT false;

-- Serves the event that tells of all tasks of a session that wait for their client.
CREATE INDEX asked_by_session ON asked (session_id, task_id);
