-- The queue of each session at each host is a flow: a claim takes so many tasks from the head of each.
ALTER TABLE ready ADD COLUMN session_id uuid;
UPDATE ready r SET session_id = t.session_id FROM task t WHERE t.id = r.task_id;
ALTER TABLE ready ALTER COLUMN session_id SET NOT NULL;
ALTER TABLE ready DROP CONSTRAINT ready_pkey;
ALTER TABLE ready ADD CONSTRAINT ready_pkey
    PRIMARY KEY (lane, session_id, priority_rank, task_id);

ALTER TABLE delayed ADD COLUMN session_id uuid;
UPDATE delayed d SET session_id = t.session_id FROM task t WHERE t.id = d.task_id;
ALTER TABLE delayed ALTER COLUMN session_id SET NOT NULL;

-- Who claims the tasks of which hosts; whose worker is gone is free.
CREATE TABLE shard (
    number smallint PRIMARY KEY CHECK (number BETWEEN 0 AND 63),
    worker integer
) WITH (fillfactor = 50);
INSERT INTO shard (number) SELECT generate_series(0, 63);

-- Whether it takes its share of the shards.
ALTER TABLE worker ADD COLUMN leases_shards boolean NOT NULL DEFAULT false;

-- Connections of all its tasks to one host; NULL for as many as the host may have.
ALTER TABLE session ADD COLUMN max_connections_per_host smallint
    CHECK (max_connections_per_host > 0);
-- Whether its tasks wait until there is nothing else to do.
ALTER TABLE session ADD COLUMN is_discretionary boolean NOT NULL DEFAULT false;

-- Tasks of the tenant that may be running; NULL for any number.
ALTER TABLE tenant ADD COLUMN running_tasks_max integer CHECK (running_tasks_max > 0);
