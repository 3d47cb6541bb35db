-- runs beside: 0012
-- Limits on bytes: what a tenant keeps and what is under way to it; and a key's own rate of requests.

ALTER TABLE tenant
    -- The most bytes of results and of bodies brought for uploads; NULL for any number.
    ADD stored_bytes_max bigint CHECK (stored_bytes_max > 0),
    -- The most bytes that its running tasks have to move; NULL for any number.
    ADD in_flight_bytes_max bigint CHECK (in_flight_bytes_max > 0);

-- The most requests with this key in a second to each instance; NULL for any number.
ALTER TABLE api_key ADD requests_per_second_max integer CHECK (requests_per_second_max > 0);

-- Bytes that clients have brought, or were promised room for, for uploads. A row goes after the file.
CREATE TABLE staged_body (
    task_id uuid PRIMARY KEY,
    tenant_id uuid NOT NULL,
    bytes bigint NOT NULL CHECK (bytes >= 0)
);

-- Serves the sum of a tenant, which is judged before more bytes are taken.
CREATE INDEX staged_body_by_tenant ON staged_body (tenant_id) INCLUDE (bytes);
