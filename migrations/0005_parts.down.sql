-- The next attempts begin from the first byte, at the URLs of their tasks.
DROP TABLE result_hold, task_mirror, upload_resource, staged_body, resume_data, abandoned_part, partial;
