DROP TABLE idempotency_key, credential, client, api_key, tenant;
