-- How many tasks of the tenant may be outstanding; NULL for any number.
ALTER TABLE tenant ADD COLUMN outstanding_tasks_max bigint CHECK (outstanding_tasks_max > 0);
