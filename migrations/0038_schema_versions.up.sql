-- The newest migration that the program of a worker knows: a migration that it cannot run beside is
-- not applied while it lives. Those that were registered before told nothing and know none of it.
ALTER TABLE worker ADD COLUMN schema_version integer NOT NULL DEFAULT 0;
