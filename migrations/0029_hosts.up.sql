-- What is known of a host, as long as it is given fewer connections than it might have or an operator
-- has set how many that is; all others need no row.
CREATE TABLE host (
    lane bigint PRIMARY KEY,
    -- Host and port.
    name text NOT NULL CHECK (octet_length(name) BETWEEN 1 AND 300),
    -- Set by an operator; NULL for as many as any host.
    connections_max smallint CHECK (connections_max > 0),
    -- Given now; NULL for all that it may have.
    connections smallint CHECK (connections > 0),
    -- Whether it cannot be reached, and is only probed.
    is_closed boolean NOT NULL DEFAULT false,
    changed_at timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (fillfactor = 70);

-- Why; the newest hundred of each host.
CREATE TABLE host_decision (
    lane bigint NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    decided_at timestamptz NOT NULL,
    connections_before smallint NOT NULL,
    connections_after smallint NOT NULL,
    reason text NOT NULL,
    PRIMARY KEY (lane, id)
);

-- Whose tasks were waiting or running there when something was decided, and who may read of it.
CREATE TABLE host_tenant (
    tenant_id uuid NOT NULL,
    lane bigint NOT NULL,
    PRIMARY KEY (tenant_id, lane)
);
