CREATE TABLE invalidation (
    session_id uuid PRIMARY KEY
);

CREATE TABLE force_quit (
    tenant_id uuid NOT NULL,
    client text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, client)
);

INSERT INTO invalidation (session_id)
SELECT c.session_id FROM cancellation c JOIN session s ON s.id = c.session_id
WHERE s.invalidated_at IS NOT NULL;

INSERT INTO force_quit (tenant_id, client)
SELECT DISTINCT s.tenant_id, s.client
FROM cancellation c JOIN session s ON s.id = c.session_id
JOIN session_progress p ON p.session_id = s.id
WHERE p.is_force_quit;

DROP TABLE cancellation;

DROP INDEX subscription_deleted;
