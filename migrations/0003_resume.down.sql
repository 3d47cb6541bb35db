DROP TABLE attempt_log, resume_data, abandoned_part, partial;

ALTER TABLE publication DROP COLUMN started_at, DROP COLUMN resumed_at_offset;
ALTER TABLE attempt DROP COLUMN began_at, DROP COLUMN resumed_at_offset;
ALTER TABLE delayed DROP COLUMN began_at;
ALTER TABLE ready DROP COLUMN began_at;
ALTER TABLE held DROP COLUMN attempt;
