-- The next attempts begin from the first byte.
DROP TABLE upload_resource, staged_body, resume_data, abandoned_part, partial;
