-- An older program reads nothing that is sealed.
DO $$
BEGIN
    IF EXISTS (SELECT 1 FROM secrets_key) THEN
        RAISE EXCEPTION 'secrets of this database are sealed, and older releases cannot read them';
    END IF;
END
$$;

DROP TABLE secrets_key;

ALTER TABLE task
    DROP CONSTRAINT task_upload_data_check,
    ADD CONSTRAINT task_upload_data_check CHECK (octet_length(upload_data) <= 65536);

ALTER TABLE signing_secret
    DROP CONSTRAINT signing_secret_secret_check,
    ADD CONSTRAINT signing_secret_secret_check CHECK (octet_length(secret) BETWEEN 24 AND 64);
