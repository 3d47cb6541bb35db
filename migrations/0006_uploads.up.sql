-- What kind of transfer a task is, and the request of one that is no plain download.
ALTER TABLE task ADD COLUMN kind text NOT NULL DEFAULT 'download'
    CHECK (kind IN ('download', 'upload'));
-- NULL: GET for a download, PUT for an upload.
ALTER TABLE task ADD COLUMN method text CHECK (octet_length(method) BETWEEN 1 AND 32);
-- Where the bytes of an upload come from: a file of the container, what a client brings to the
-- service before the task begins, or the row itself.
ALTER TABLE task ADD COLUMN upload_path text;
ALTER TABLE task ADD COLUMN upload_is_staged boolean NOT NULL DEFAULT false;
ALTER TABLE task ADD COLUMN upload_data bytea CHECK (octet_length(upload_data) <= 65536);
ALTER TABLE task ADD CHECK ((kind = 'upload') = (
    (upload_path IS NOT NULL)::int + upload_is_staged::int + (upload_data IS NOT NULL)::int = 1));

-- The task waits for the bytes that its client is still to bring.
ALTER TABLE held ADD COLUMN awaits_body boolean NOT NULL DEFAULT false;
-- And begins by itself when they are there.
ALTER TABLE held ADD COLUMN autostart boolean NOT NULL DEFAULT false;

ALTER TABLE attempt ADD COLUMN bytes_sent bigint NOT NULL DEFAULT 0;
ALTER TABLE attempt ADD COLUMN bytes_to_send bigint;
ALTER TABLE attempt_log ADD COLUMN bytes_sent bigint NOT NULL DEFAULT 0;
ALTER TABLE outcome ADD COLUMN bytes_sent bigint NOT NULL DEFAULT 0;
-- What the origin answered to an upload, at most 64 KiB.
ALTER TABLE outcome ADD COLUMN response_body bytea CHECK (octet_length(response_body) <= 65536);
