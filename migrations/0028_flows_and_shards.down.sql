ALTER TABLE tenant DROP COLUMN running_tasks_max;
ALTER TABLE session DROP COLUMN is_discretionary;
ALTER TABLE session DROP COLUMN max_connections_per_host;
ALTER TABLE worker DROP COLUMN leases_shards;
DROP TABLE shard;
ALTER TABLE delayed DROP COLUMN session_id;
ALTER TABLE ready DROP CONSTRAINT ready_pkey;
ALTER TABLE ready DROP COLUMN session_id;
ALTER TABLE ready ADD CONSTRAINT ready_pkey PRIMARY KEY (lane, priority_rank, task_id);
