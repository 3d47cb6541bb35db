DROP TABLE listener, host_tenant, host_decision, host, limit_change, shard, worker;
