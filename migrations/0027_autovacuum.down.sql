ALTER TABLE delivery_attempt RESET (autovacuum_vacuum_scale_factor);
ALTER TABLE delivery_log RESET (autovacuum_vacuum_scale_factor);
ALTER TABLE task_owner RESET (autovacuum_vacuum_scale_factor);
ALTER TABLE expired_task
    RESET (autovacuum_vacuum_scale_factor, autovacuum_vacuum_insert_scale_factor);
ALTER TABLE attempt_log
    RESET (autovacuum_vacuum_scale_factor, autovacuum_vacuum_insert_scale_factor);
ALTER TABLE outcome
    RESET (autovacuum_vacuum_scale_factor, autovacuum_vacuum_insert_scale_factor);
ALTER TABLE task
    RESET (autovacuum_vacuum_scale_factor, autovacuum_vacuum_insert_scale_factor);
ALTER TABLE worker RESET (autovacuum_vacuum_threshold, autovacuum_vacuum_cost_delay);
ALTER TABLE idempotency_key RESET (autovacuum_vacuum_scale_factor);
ALTER TABLE abandoned_part RESET (autovacuum_vacuum_scale_factor, autovacuum_vacuum_cost_delay);
ALTER TABLE revocation RESET (autovacuum_vacuum_scale_factor, autovacuum_vacuum_cost_delay);
ALTER TABLE held RESET (autovacuum_vacuum_scale_factor, autovacuum_vacuum_cost_delay);
