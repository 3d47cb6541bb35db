-- Parts: the files of interrupted transfers, and who resumes them.

-- The part file that the next attempt of a task resumes. Only long transfers have a row: the first
-- checkpoint makes it, the outcome removes it.
CREATE TABLE partial (
    task_id uuid PRIMARY KEY,
    -- Names the file, and so the attempt that started it.
    part_fence bigint NOT NULL,
    -- The task that started the file, when it came with resume data; the file may still be at that
    -- task's place.
    source_task_id uuid,
    -- Within this boot of the machine the file holds whatever was written to it; after another,
    -- only what was made durable.
    boot_id uuid NOT NULL,
    bytes_durable bigint NOT NULL CHECK (bytes_durable >= 0),
    bytes_total bigint NOT NULL CHECK (bytes_total > 0),
    -- The value of If-Range (RFC 9110 §13.1.5).
    validator text NOT NULL CHECK (octet_length(validator) BETWEEN 2 AND 255),
    -- Which bytes are there, when the file is fetched in segments or may yet be: its mark tells
    -- whether these count, or its size. NULL for one that is written from its start.
    ranges int8multirange,
    -- The coding of the bytes, as Content-Encoding named it; NULL for none.
    coding text CHECK (octet_length(coding) BETWEEN 1 AND 255),
    -- The bytes may be from elsewhere than the task's URL, so that only an entity tag tells whose
    -- a later answer is.
    may_be_of_another boolean NOT NULL DEFAULT false,
    CONSTRAINT partial_check CHECK (lower(ranges) >= 0 AND upper(ranges) <= bytes_total)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

-- Serves the question of a worker whether a part file is still wanted.
CREATE INDEX partial_by_fence ON partial (part_fence);

-- Serves the question whether the part file of an expiring task was given to another one.
CREATE INDEX partial_by_source ON partial (source_task_id) WHERE source_task_id IS NOT NULL;

-- Part files that no attempt will resume, until a worker has removed them. The table is mostly
-- empty, and each worker reads it again and again.
CREATE TABLE abandoned_part (
    fence bigint PRIMARY KEY,
    task_id uuid NOT NULL,
    source_task_id uuid
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

-- Serve the question whether a task that is erased, expires or is removed has one, or started one.
CREATE INDEX abandoned_part_by_task ON abandoned_part (task_id);
CREATE INDEX abandoned_part_by_source ON abandoned_part (source_task_id)
    WHERE source_task_id IS NOT NULL;

-- What a cancelled task left for another one, until that takes it, or a failed one for its retry;
-- the columns are those of `partial`.
CREATE TABLE resume_data (
    -- Of a failed task its own identifier; otherwise random.
    id uuid PRIMARY KEY,
    tenant_id uuid NOT NULL,
    part_fence bigint NOT NULL,
    source_task_id uuid NOT NULL,
    boot_id uuid NOT NULL,
    bytes_durable bigint NOT NULL,
    bytes_total bigint NOT NULL,
    validator text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    ranges int8multirange,
    coding text,
    may_be_of_another boolean NOT NULL DEFAULT false
);

-- Serves the question of a worker whether a part file is still wanted.
CREATE INDEX resume_data_by_fence ON resume_data (part_fence);

-- Serves the questions about what tasks left for others; what failed ones left for themselves,
-- which may be as much as there are tasks, is not read for these.
CREATE INDEX resume_data_for_others ON resume_data (source_task_id) WHERE id <> source_task_id;

-- Serves the sum of what a tenant keeps, the largest first.
CREATE INDEX resume_data_by_size ON resume_data (tenant_id, bytes_durable DESC);

-- Bytes that clients have brought, or were promised room for, for uploads. A row goes after the
-- file.
CREATE TABLE staged_body (
    task_id uuid PRIMARY KEY,
    tenant_id uuid NOT NULL,
    bytes bigint NOT NULL CHECK (bytes >= 0)
);

-- Serves the sum of a tenant, which is judged before more bytes are taken.
CREATE INDEX staged_body_by_tenant ON staged_body (tenant_id) INCLUDE (bytes);

-- Where a download with mirrors stands that has ever left its URL. The row in `task` has its URLs
-- as they were given, and the host of the one that it asks.
CREATE TABLE task_mirror (
    task_id uuid PRIMARY KEY,
    -- The URL that is asked: a mirror, from 1, or the task's own.
    rank smallint NOT NULL CHECK (rank BETWEEN 0 AND 8),
    -- The host of the task's own URL.
    url_host_key bigint NOT NULL,
    -- The URLs that are not asked again, a bit for each rank.
    given_up smallint NOT NULL CHECK (given_up BETWEEN 0 AND 511),
    -- No host that was asked in this round could be reached.
    is_offline boolean NOT NULL,
    -- Until when a server of this round has asked not to be asked again; NULL if none has.
    rests_until timestamptz
) WITH (autovacuum_vacuum_scale_factor = 0.05);

-- The resource that an origin has named for the rest of a task's upload. Only uploads have a row
-- whose origin continues them, and it goes with its task: a client's retry continues there too.
CREATE TABLE upload_resource (
    task_id uuid PRIMARY KEY,
    -- The attempt to which the origin named it.
    fence bigint NOT NULL,
    -- How it is spoken with, also when the options of its task have changed.
    dialect text NOT NULL CHECK (dialect IN ('ietf', 'tus', 'content_range')),
    -- Sealed as a whole: whoever knows it may send bytes there.
    url bytea NOT NULL CHECK (octet_length(url) BETWEEN 1 AND 8704),
    -- The task's secrets are sent there too.
    is_at_origin boolean NOT NULL,
    -- The version of the body whose bytes are there.
    body text NOT NULL CHECK (octet_length(body) <= 256)
) WITH (autovacuum_vacuum_scale_factor = 0.05);

-- The task whose result a copy sends, which is kept until the copy has ended. A row goes with its
-- copy.
CREATE TABLE result_hold (
    -- The copy.
    task_id uuid PRIMARY KEY,
    source_task_id uuid NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.05);

-- Serves the question whether the result of an expiring task is still to be copied.
CREATE INDEX result_hold_by_source ON result_hold (source_task_id);
