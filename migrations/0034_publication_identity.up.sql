-- Which file the part is, so that whoever repeats its rename knows it again under its destination: another
-- task's file there may have the same size. An inode is used again once its file is gone, so that the time
-- at which it was made belongs to it. NULL of publications of versions before, which are run again when
-- their part is gone.
ALTER TABLE publication ADD COLUMN inode bigint;
ALTER TABLE publication ADD COLUMN inode_born_at_ns bigint;
ALTER TABLE publication ADD CONSTRAINT publication_inode_is_whole
    CHECK ((inode IS NULL) = (inode_born_at_ns IS NULL));
