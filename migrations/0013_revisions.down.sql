ALTER TABLE tenant DROP COLUMN background_revision;
ALTER TABLE subscription DROP COLUMN revision;
ALTER TABLE task DROP COLUMN revision;
