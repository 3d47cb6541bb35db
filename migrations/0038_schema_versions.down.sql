ALTER TABLE worker DROP COLUMN schema_version;
