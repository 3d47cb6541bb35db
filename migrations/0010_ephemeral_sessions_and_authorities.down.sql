-- What the older schema has no room for is lost; what was to be erased stays.
ALTER TABLE tenant DROP COLUMN certificate_authorities;
DROP TABLE erasure;
DELETE FROM outcome USING task WHERE task.id = outcome.task_id AND task.kind = 'data';
DELETE FROM attempt_log USING task WHERE task.id = attempt_log.task_id AND task.kind = 'data';
UPDATE outcome SET response_body = substring(response_body FROM 1 FOR 65536)
    WHERE octet_length(response_body) > 65536;
ALTER TABLE outcome DROP CONSTRAINT outcome_response_body_check;
ALTER TABLE outcome ADD CONSTRAINT outcome_response_body_check
    CHECK (octet_length(response_body) <= 65536);
DELETE FROM task WHERE kind = 'data';
ALTER TABLE task DROP CONSTRAINT task_kind_check, DROP CONSTRAINT task_upload_check;
ALTER TABLE task
    ADD CONSTRAINT task_kind_check CHECK (kind IN ('download', 'upload')),
    ADD CONSTRAINT task_check1 CHECK ((kind = 'upload') = (
        (upload_path IS NOT NULL)::int + upload_is_staged::int + (upload_data IS NOT NULL)::int = 1));
ALTER TABLE session DROP COLUMN kind;
