-- runs beside: 0015
-- Bounds of tenants: the bytes they keep and have in flight, a key's own rate of requests, and where
-- their requests may go.

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

ALTER TABLE tenant
    -- Where requests of the tenant may go, within what the service allows; NULL for all of that.
    ADD egress_rules jsonb CHECK (octet_length(egress_rules::text) <= 65536);

-- Serves every instance, which reads all rules every few seconds.
CREATE INDEX tenant_with_egress_rules ON tenant (id) WHERE egress_rules IS NOT NULL;

-- Where the instances listen, which nobody reaches through any of them.
CREATE TABLE listener (
    -- One process.
    id uuid PRIMARY KEY,
    -- The machine, as far as its processes share their loopback addresses.
    machine text NOT NULL CHECK (octet_length(machine) <= 128),
    addresses bytea[] NOT NULL CHECK (cardinality(addresses) <= 256),
    port integer NOT NULL CHECK (port BETWEEN 1 AND 65535),
    -- Says that the process is alive.
    seen_at timestamptz NOT NULL
);
