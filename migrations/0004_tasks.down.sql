DROP VIEW running_attempt, pending_rename;

DROP TABLE test_failure, task_owner, bulk_operation, cancellation, outcome, rename_run,
    revocation, attempt, attempt_run, ready_run, answer, asked, delayed, held, task;

DROP TYPE task_state;

-- The counters would tell of tasks that are there no longer, and no session would come to its end.
UPDATE session_progress
SET outstanding = 0, completed = 0, failed = 0, cancelled = 0, is_pending_told = false;

-- Their answers would tell of such tasks too.
DELETE FROM idempotency_key;
