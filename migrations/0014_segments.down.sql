-- Without its ranges a part file would pass as one that is whole up to its size.
INSERT INTO abandoned_part (fence, task_id, source_task_id)
SELECT part_fence, task_id, source_task_id FROM partial WHERE ranges IS NOT NULL
ON CONFLICT (fence) DO NOTHING;
DELETE FROM partial WHERE ranges IS NOT NULL;
DELETE FROM resume_data WHERE ranges IS NOT NULL;

ALTER TABLE attempt_log DROP COLUMN connections;
ALTER TABLE resume_data DROP COLUMN ranges;
ALTER TABLE partial DROP COLUMN ranges;
