-- The session takes no further tasks and ends with its last one. Here, where the row lock is: no
-- submit slips past it, and the transaction that ends the last task sees it.
ALTER TABLE session_progress ADD COLUMN is_finishing boolean NOT NULL DEFAULT false;
