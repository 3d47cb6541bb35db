DROP TABLE wake_up;
ALTER TABLE subscription DROP COLUMN wake_up_throttling;
