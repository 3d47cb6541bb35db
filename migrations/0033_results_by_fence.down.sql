ALTER TABLE outcome DROP COLUMN part_fence;
