-- Whether session.events_finished is sent the more seldom the more often it was sent lately.
ALTER TABLE subscription ADD COLUMN wake_up_throttling boolean NOT NULL DEFAULT false;

-- Hot plane: the last session.events_finished that was sent to a subscription that throttles them.
CREATE TABLE wake_up (
    subscription_id uuid PRIMARY KEY,
    -- The event, which is let through when it is tried again.
    event_id uuid NOT NULL,
    -- How many there were without a quiet day between two of them; makes the wait for the next.
    count integer NOT NULL CHECK (count > 0),
    sent_at timestamptz NOT NULL
) WITH (fillfactor = 50);
