ALTER TABLE outcome DROP COLUMN suggested_file_name;
ALTER TABLE publication DROP COLUMN suggested_file_name;
