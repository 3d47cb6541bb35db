-- What clients answered to the challenges of single sessions; nothing could name it any more.
DELETE FROM credential WHERE name IS NULL;

DROP TABLE erasure, session_credential, session_progress, session;
