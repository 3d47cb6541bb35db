-- The files that it names are not found by versions before.
ALTER TABLE outcome DROP COLUMN part_fence;
