-- Tasks that wait for a word of their client.
ALTER TYPE task_state ADD VALUE 'waiting_to_begin' AFTER 'scheduled';
ALTER TYPE task_state ADD VALUE 'waiting_for_authentication' AFTER 'waiting_for_connectivity';

-- Whether the client is asked when the time has come.
ALTER TABLE delayed ADD COLUMN asks_to_begin boolean NOT NULL DEFAULT false;

-- Serves the promotion of those that do not ask, and of those that do.
DROP INDEX delayed_due;
CREATE INDEX delayed_due ON delayed (due_at) WHERE NOT asks_to_begin;
CREATE INDEX delayed_due_asking ON delayed (due_at) WHERE asks_to_begin;

-- Hot plane: one question a task, until it is answered or nobody has in time.
CREATE TABLE asked (
    task_id uuid PRIMARY KEY,
    session_id uuid NOT NULL,
    question text NOT NULL CHECK (question IN ('begin', 'authentication')),
    attempt smallint NOT NULL,
    -- When the first attempt began; NULL before.
    began_at timestamptz,
    until timestamptz NOT NULL,
    -- What the task fails with when nobody answers.
    failure jsonb NOT NULL,
    -- Who wants to be authenticated to: scheme, host and port of the task's URL.
    origin text,
    CHECK ((question = 'authentication') = (origin IS NOT NULL))
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

-- Serves the end of those that nobody has answered.
CREATE INDEX asked_until ON asked (until);

-- Serves an answer that is good for all tasks of a session that wait for the same origin.
CREATE INDEX asked_by_origin ON asked (session_id, origin) WHERE origin IS NOT NULL;
