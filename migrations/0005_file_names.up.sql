-- The name that the response suggests for the file, made safe.
ALTER TABLE publication ADD COLUMN suggested_file_name text;
ALTER TABLE outcome ADD COLUMN suggested_file_name text;
