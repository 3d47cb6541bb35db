ALTER TABLE session DROP COLUMN shared_container_identifier;
DROP TABLE task_owner;
