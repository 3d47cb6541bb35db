-- The number of changes that clients have made, for conditional changes (If-Match): each change
-- compares and increases it in its own statement.
ALTER TABLE task ADD COLUMN revision integer NOT NULL DEFAULT 0;
ALTER TABLE subscription ADD COLUMN revision integer NOT NULL DEFAULT 0;
ALTER TABLE tenant ADD COLUMN background_revision integer NOT NULL DEFAULT 0;
