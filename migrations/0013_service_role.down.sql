DROP FUNCTION grant_to_service(regrole);
DROP FUNCTION drop_log_partition(text, date);
DROP FUNCTION make_log_partition(text, date);
DROP FUNCTION is_log(text);
