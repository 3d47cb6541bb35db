-- An older program reads nothing that is sealed.
DO $$
BEGIN
    IF EXISTS (SELECT 1 FROM signing_secret WHERE octet_length(secret) > 64)
        OR EXISTS (SELECT 1 FROM session WHERE jsonb_typeof(additional_headers) = 'string')
        OR EXISTS (SELECT 1 FROM subscription
            WHERE jsonb_typeof(headers) = 'string' OR strpos(url, ' ') > 0)
        OR EXISTS (SELECT 1 FROM task
            WHERE jsonb_typeof(headers) = 'string' OR strpos(url, ' ') > 0
                OR substring(upload_data FOR 8) = '\x007365616c656400')
        OR EXISTS (SELECT 1 FROM credential WHERE strpos(form->>'token_url', ' ') > 0)
        OR EXISTS (SELECT 1 FROM idempotency_key
            WHERE substring(body FOR 8) = '\x007365616c656400')
    THEN
        RAISE EXCEPTION 'secrets of this database are sealed, and older releases cannot read them';
    END IF;
END
$$;

DROP TABLE secrets_key;
