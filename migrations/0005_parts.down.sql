-- The next attempts begin from the first byte.
DROP TABLE resume_data, abandoned_part, partial;
