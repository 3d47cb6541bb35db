-- Audit: who changed what or was refused, in a chain that shows whether any of it was altered
-- later.

-- A call that changes something, or is refused. Written in the transaction of the change and never
-- altered. There are no references: an entry outlives what it is about.
CREATE TABLE audit_entry (
    -- Which numbering of transactions the entry belongs to, and the transaction that wrote it. Once
    -- all transactions below one are over, no entry can appear below it any more.
    epoch integer NOT NULL,
    transaction xid8 NOT NULL DEFAULT pg_current_xact_id(),
    id bigint GENERATED ALWAYS AS IDENTITY,
    recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- NULL for a command.
    request_id uuid,
    -- The identifier of the key, or the user who ran a command; NULL for a request without a key.
    actor text CHECK (octet_length(actor) <= 128),
    tenant_id uuid,
    peer text CHECK (octet_length(peer) <= 64),
    -- The method of a request or the words of a command, and its path or what it names, without
    -- queries and secrets.
    action text NOT NULL CHECK (octet_length(action) <= 64),
    object text NOT NULL CHECK (octet_length(object) <= 512),
    -- The answer; NULL for what is written with the change itself, before there is an answer.
    status smallint,
    code text CHECK (octet_length(code) <= 64),
    -- Serves the sealing, its verification, listing and removal.
    PRIMARY KEY (epoch, transaction, id)
);

-- The sealed entries from one transaction up to another, and the digest of these and of the block
-- before.
CREATE TABLE audit_block (
    -- Serves the chain from its first block to its last.
    number bigint PRIMARY KEY,
    from_epoch integer NOT NULL,
    from_transaction xid8 NOT NULL,
    before_epoch integer NOT NULL,
    before_transaction xid8 NOT NULL,
    entry_count bigint NOT NULL,
    entries_sha256 bytea NOT NULL CHECK (octet_length(entries_sha256) = 32),
    sealed_at timestamptz NOT NULL,
    sha256 bytea NOT NULL CHECK (octet_length(sha256) = 32)
);

-- The end of the chain. Its row lock lets one instance at a time seal; nobody else waits for it.
CREATE TABLE audit_chain (
    is_one boolean PRIMARY KEY DEFAULT true CHECK (is_one),
    -- The epoch of new entries.
    epoch integer NOT NULL DEFAULT 1,
    -- The last block, and its digest.
    number bigint NOT NULL DEFAULT 0,
    sha256 bytea NOT NULL DEFAULT decode(repeat('00', 32), 'hex'),
    -- Where the next block begins.
    before_epoch integer NOT NULL DEFAULT 1,
    before_transaction xid8 NOT NULL DEFAULT '0',
    -- The last block whose entries were removed for their age.
    removed_number bigint NOT NULL DEFAULT 0
);

INSERT INTO audit_chain DEFAULT VALUES;

-- Keeps programs and people from altering entries by mistake; the chain shows what was done on
-- purpose. Only the removal of old entries sets the variable.
CREATE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND current_setting('transferd.removes_audit_entries', true) = 'on' THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION 'entries of the audit log are never changed' USING ERRCODE = '42501';
END
$$;

CREATE TRIGGER audit_entry_is_append_only BEFORE UPDATE OR DELETE ON audit_entry
    FOR EACH ROW EXECUTE FUNCTION refuse_audit_change();
CREATE TRIGGER audit_entry_is_never_emptied BEFORE TRUNCATE ON audit_entry
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change();
CREATE TRIGGER audit_block_is_append_only BEFORE UPDATE OR DELETE ON audit_block
    FOR EACH ROW EXECUTE FUNCTION refuse_audit_change();
CREATE TRIGGER audit_block_is_never_emptied BEFORE TRUNCATE ON audit_block
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change();
