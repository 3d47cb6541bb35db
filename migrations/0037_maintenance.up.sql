-- Sessions that have ended, or whose client was force-quit, until nothing of them is outstanding: they are
-- cancelled page by page, in the order of their tasks, by whichever instance.
CREATE TABLE cancellation (
    session_id uuid PRIMARY KEY,
    -- The last task looked at; whoever goes on begins behind it.
    cancelled_through uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000'
);

INSERT INTO cancellation (session_id)
SELECT session_id FROM invalidation
UNION
SELECT p.session_id FROM force_quit f
JOIN session s ON s.tenant_id = f.tenant_id AND s.client = f.client
JOIN session_progress p ON p.session_id = s.id
WHERE p.is_force_quit AND p.outstanding > 0;

DROP TABLE invalidation;
DROP TABLE force_quit;

-- Serves the removal of subscriptions that were deleted long ago.
CREATE INDEX subscription_deleted ON subscription (deleted_at) WHERE deleted_at IS NOT NULL;
