DROP TABLE idempotency_key, event, outcome, invalidation, revocation, publication, attempt, worker, ready,
    delayed, held, task, session_progress, session, api_key, tenant;

DROP TYPE task_state;
