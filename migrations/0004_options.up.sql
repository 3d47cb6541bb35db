-- How the session's tasks are transferred, and what a task wants otherwise; NULL for nothing. Read
-- with the claim and never searched, so that a column each would only be carried along.
ALTER TABLE session ADD COLUMN options jsonb;
ALTER TABLE task ADD COLUMN options jsonb;
