ALTER TABLE publication DROP CONSTRAINT publication_inode_is_whole;
ALTER TABLE publication DROP COLUMN inode_born_at_ns;
ALTER TABLE publication DROP COLUMN inode;
