-- A certificate and its private key, shown in the TLS handshake.
ALTER TABLE credential DROP CONSTRAINT credential_kind_check;
ALTER TABLE credential ADD CONSTRAINT credential_kind_check CHECK (kind IN (
    'bearer', 'basic', 'header', 'oauth2_refresh_token', 'client_certificate'));
