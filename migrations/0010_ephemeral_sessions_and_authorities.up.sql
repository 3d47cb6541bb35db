-- An ephemeral session leaves nothing behind; only in one a task may be a data task.
ALTER TABLE session ADD COLUMN kind text NOT NULL DEFAULT 'background'
    CHECK (kind IN ('background', 'ephemeral'));

-- A data task sends what the row itself holds, or nothing.
ALTER TABLE task DROP CONSTRAINT task_kind_check, DROP CONSTRAINT task_check1;
ALTER TABLE task
    ADD CONSTRAINT task_kind_check CHECK (kind IN ('download', 'upload', 'data')),
    ADD CONSTRAINT task_upload_check CHECK (
        (upload_path IS NOT NULL)::int + upload_is_staged::int + (upload_data IS NOT NULL)::int
            = CASE kind
                WHEN 'upload' THEN 1
                WHEN 'data' THEN (upload_data IS NOT NULL)::int
                ELSE 0
            END);

-- What the origin answered: to an upload at most 64 KiB, to a data task at most 256 KiB.
ALTER TABLE outcome DROP CONSTRAINT outcome_response_body_check;
ALTER TABLE outcome ADD CONSTRAINT outcome_response_body_check
    CHECK (octet_length(response_body) <= 262144);

-- An invalidated ephemeral session, until the last of its rows and files is gone.
CREATE TABLE erasure (
    session_id uuid PRIMARY KEY,
    begun_at timestamptz NOT NULL DEFAULT now()
);

-- Certificates in PEM that all tasks of the tenant trust besides the system's.
ALTER TABLE tenant ADD COLUMN certificate_authorities bytea
    CHECK (octet_length(certificate_authorities) BETWEEN 1 AND 65536);
