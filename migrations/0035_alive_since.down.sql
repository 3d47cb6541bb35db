ALTER TABLE worker DROP COLUMN instance_lock, DROP COLUMN alive_since;
