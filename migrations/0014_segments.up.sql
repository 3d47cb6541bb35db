-- Which bytes of a part file are there, when it was fetched in segments; NULL for one that was
-- written from its begin on, of which the size tells.
ALTER TABLE partial ADD COLUMN ranges int8multirange
    CHECK (lower(ranges) >= 0 AND upper(ranges) <= bytes_total);
ALTER TABLE resume_data ADD COLUMN ranges int8multirange;

-- The most connections that the attempt had at once; NULL where nothing was measured.
ALTER TABLE attempt_log ADD COLUMN connections smallint;
