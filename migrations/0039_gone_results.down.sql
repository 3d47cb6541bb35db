ALTER TABLE outcome DROP COLUMN result_gone_at;
