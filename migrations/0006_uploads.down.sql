ALTER TABLE outcome DROP COLUMN bytes_sent, DROP COLUMN response_body;
ALTER TABLE attempt_log DROP COLUMN bytes_sent;
ALTER TABLE attempt DROP COLUMN bytes_sent, DROP COLUMN bytes_to_send;
ALTER TABLE held DROP COLUMN awaits_body, DROP COLUMN autostart;
ALTER TABLE task DROP COLUMN kind, DROP COLUMN method, DROP COLUMN upload_path,
    DROP COLUMN upload_is_staged, DROP COLUMN upload_data;
