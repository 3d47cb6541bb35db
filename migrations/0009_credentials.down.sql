DROP INDEX asked_by_credential;
ALTER TABLE asked DROP COLUMN attempted_at;
ALTER TABLE asked DROP COLUMN credential;
ALTER TABLE session DROP COLUMN has_credentials;
DROP TABLE session_credential;
DROP TABLE credential;
