-- Who finds another worker silent must have been heard itself all the while: `alive_since` is when its
-- signs of life began to come without a gap, by the database's clock.
--
-- `instance_lock` names the locked file that belongs to one process at a time, by the running kernel
-- and its inode: whoever has the lock knows that all who registered under it before are dead.
ALTER TABLE worker
    ADD COLUMN alive_since timestamptz NOT NULL DEFAULT now(),
    ADD COLUMN instance_lock text;
