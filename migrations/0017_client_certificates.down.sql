DELETE FROM credential WHERE kind = 'client_certificate';
ALTER TABLE credential DROP CONSTRAINT credential_kind_check;
ALTER TABLE credential ADD CONSTRAINT credential_kind_check CHECK (kind IN (
    'bearer', 'basic', 'header', 'oauth2_refresh_token'));
