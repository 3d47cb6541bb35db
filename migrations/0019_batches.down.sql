ALTER TABLE delivery_log
    DROP COLUMN event_count,
    DROP COLUMN batch_first,
    DROP COLUMN batch_id;
ALTER TABLE delivery DROP COLUMN batch_through;
ALTER TABLE subscription DROP COLUMN delivery_form;
