-- Maintenance: what is held back for a time.

-- Times in which nothing begins: of a tenant, at a host, of a tenant at a host, or at all. Read by
-- every claim, by the scope: a tenant has at most a hundred of its own, and mostly there are none.
CREATE TABLE pause (
    id uuid PRIMARY KEY,
    tenant_id uuid REFERENCES tenant (id),
    host_key bigint,
    host_name text CHECK (octet_length(host_name) BETWEEN 1 AND 300),
    is_by_tenant boolean NOT NULL,
    gives_back boolean NOT NULL,
    paused_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CHECK ((host_key IS NULL) = (host_name IS NULL)),
    CHECK (tenant_id IS NOT NULL OR NOT is_by_tenant)
);
-- One pause of each scope by each of its two authors.
CREATE UNIQUE INDEX pause_by_scope
    ON pause (coalesce(tenant_id::text, ''), coalesce(host_key::text, ''), is_by_tenant);
