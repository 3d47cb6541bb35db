-- Workers and hosts: who transfers, who claims the tasks of which hosts, and what is known about
-- a host. Workers come before tasks: a worker's number makes the fences of its attempts, and no
-- attempt may outlive the numbers.

-- One registration of one running service.
CREATE TABLE worker (
    -- The high bits of its attempts' fences, of which the first is the sign; never given out again.
    incarnation integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY (MAXVALUE 8388606),
    name text NOT NULL,
    started_at timestamptz NOT NULL DEFAULT now(),
    heartbeat_at timestamptz NOT NULL DEFAULT now(),
    -- Whether it takes its share of the shards.
    leases_shards boolean NOT NULL DEFAULT false,
    -- Since when its heartbeats have come without a gap, by the database's clock. A worker that
    -- finds another one silent must have sent its own all the while.
    alive_since timestamptz NOT NULL DEFAULT now(),
    -- The locked file that belongs to one process at a time, by the running kernel and its inode.
    -- Whoever has the lock knows that all who registered under it before are dead.
    instance_lock text,
    -- The newest migration that its program knows: a migration that it cannot run beside is not
    -- applied while it lives.
    schema_version integer NOT NULL DEFAULT 0
-- A few rows, each updated every three seconds in place; half of a page may be dead.
) WITH (fillfactor = 30, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_cost_delay = 0);

-- A shard is a range of hosts. Its worker alone claims their tasks; a shard whose worker is gone is
-- free.
CREATE TABLE shard (
    number smallint PRIMARY KEY CHECK (number BETWEEN 0 AND 63),
    worker integer
) WITH (fillfactor = 50);
INSERT INTO shard (number) SELECT generate_series(0, 63);

-- Counts the changes of limits of tasks, sessions and tenants, in the transactions that change
-- them: a worker that knows this number knows the limits of what it runs. There is one row.
CREATE TABLE limit_change (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    version bigint NOT NULL
);
INSERT INTO limit_change (version) VALUES (1);

-- A host that is given fewer connections than it might have, or whose number an operator has set.
-- Other hosts need no row.
CREATE TABLE host (
    host_key bigint PRIMARY KEY,
    -- Host and port.
    name text NOT NULL CHECK (octet_length(name) BETWEEN 1 AND 300),
    -- Set by an operator; NULL for as many as any host.
    connections_max smallint CHECK (connections_max > 0),
    -- Given now; NULL for all that it may have.
    connections smallint CHECK (connections > 0),
    -- Whether it cannot be reached, and is only probed.
    is_closed boolean NOT NULL DEFAULT false,
    changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- The shard that it is in.
    shard smallint NOT NULL GENERATED ALWAYS AS ((host_key >> 58) + 32) STORED
) WITH (fillfactor = 70);
-- What operators have set, which each lease of shards reads.
CREATE INDEX host_bounded ON host (host_key) WHERE connections_max IS NOT NULL;
-- The newest that have fewer connections, which a new owner of a shard reads.
CREATE INDEX host_slowed ON host (shard, changed_at DESC)
    WHERE connections IS NOT NULL AND connections_max IS NULL;
-- What a new owner of a shard has yet to find out.
CREATE INDEX host_closed ON host (shard) WHERE is_closed;
-- The removal of those that nothing was decided about for long.
CREATE INDEX host_idle ON host (changed_at) WHERE connections_max IS NULL;

-- Why a host has the connections that it has; the newest hundred decisions of each.
CREATE TABLE host_decision (
    host_key bigint NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    decided_at timestamptz NOT NULL,
    connections_before smallint NOT NULL,
    connections_after smallint NOT NULL,
    reason text NOT NULL,
    -- Serves the list of a host's decisions, and the removal of those behind the hundredth.
    PRIMARY KEY (host_key, id)
);

-- The tenants whose tasks were waiting or running at a host when something was decided, and who may
-- read about it; of each tenant a bounded number.
CREATE TABLE host_tenant (
    tenant_id uuid NOT NULL,
    host_key bigint NOT NULL,
    -- Serves the list of a tenant's hosts.
    PRIMARY KEY (tenant_id, host_key)
);
-- Whether any tenant has a host, and the removal of a host.
CREATE INDEX host_tenant_by_host ON host_tenant (host_key);

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
