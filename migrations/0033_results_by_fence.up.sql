-- The part file that is the result of a download without a destination. Its name holds the fence, so that
-- no other attempt's file can take its place, and it needs no other name. NULL of results that have
-- a name of their own: those with a destination, and those of versions before.
ALTER TABLE outcome ADD COLUMN part_fence bigint;
