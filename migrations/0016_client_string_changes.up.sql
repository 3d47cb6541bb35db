-- Log plane: what a task's client string was before it was changed. An event tells it as it was then,
-- so that a message which is repeated has the bytes that it had.
CREATE TABLE client_string_change (
    task_id uuid NOT NULL,
    -- The last event of the task's session at which it held.
    through_sequence bigint NOT NULL,
    client_string bytea CHECK (octet_length(client_string) <= 65536),
    -- Serves the reading of events.
    PRIMARY KEY (task_id, through_sequence)
);
