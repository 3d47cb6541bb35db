DROP INDEX subscription_by_scope;
ALTER TABLE subscription DROP COLUMN is_living;
