-- When `transferd verify` found that the file of a completed download is no longer there: somebody has
-- removed it beneath the service. NULL while nobody has found that.
ALTER TABLE outcome ADD COLUMN result_gone_at timestamptz;
