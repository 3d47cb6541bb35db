-- The service's role: what it does beyond reading and changing rows, and may do only so.

-- The service makes partitions of its logs while it runs, and drops old ones. Both are done with
-- the rights of the schema's owner, so that the service's own role needs none to define anything.
-- Only of logs, which are all tables with partitions, and only weeks that a service would make or
-- drop.
CREATE FUNCTION is_log(name text) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (SELECT FROM pg_class c
        WHERE c.relname = name AND c.relkind = 'p'
            -- The cast reads a name as a statement does, and so without quotes another schema's.
            AND c.relnamespace = quote_ident(current_schema())::regnamespace)
$$;

CREATE FUNCTION make_log_partition(log text, week date) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    this_week CONSTANT timestamp := date_trunc('week', now() AT TIME ZONE 'UTC');
BEGIN
    IF NOT is_log(log) OR date_trunc('week', week::timestamp) <> week
        OR week NOT BETWEEN this_week - interval '7 days' AND this_week + interval '28 days'
    THEN
        RAISE EXCEPTION 'there is no such partition' USING ERRCODE = '22023';
    END IF;
    EXECUTE format(
        'CREATE TABLE IF NOT EXISTS %I PARTITION OF %I FOR VALUES FROM (%L) TO (%L) %s',
        log || to_char(week, '_YYYYMMDD'), log,
        to_char(week, 'YYYY-MM-DD') || ' 00:00:00+00',
        to_char(week + 7, 'YYYY-MM-DD') || ' 00:00:00+00',
        -- Runs of events stay in line.
        CASE log WHEN 'event_run' THEN 'WITH (toast_tuple_target = 8160)' ELSE '' END);
END
$$;

CREATE FUNCTION drop_log_partition(log text, week date) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    IF NOT is_log(log) OR week + 7 > (now() AT TIME ZONE 'UTC')::date THEN
        RAISE EXCEPTION 'there is no such partition' USING ERRCODE = '22023';
    END IF;
    EXECUTE format('DROP TABLE IF EXISTS %I', log || to_char(week, '_YYYYMMDD'));
END
$$;

-- Nobody who calls them decides where names are looked up, temporary tables last of all (PostgreSQL
-- manual, CREATE FUNCTION, "Writing SECURITY DEFINER Functions Safely").
DO $$
BEGIN
    EXECUTE format('ALTER FUNCTION make_log_partition(text, date) SET search_path = %I, pg_temp',
        current_schema());
    EXECUTE format('ALTER FUNCTION drop_log_partition(text, date) SET search_path = %I, pg_temp',
        current_schema());
END
$$;

REVOKE ALL ON FUNCTION make_log_partition(text, date), drop_log_partition(text, date) FROM PUBLIC;

-- Lets a role do what the service does, with what belongs to the owner of these tables; of the
-- audit log it may alter nothing. Every later migration that adds a table is followed by this, for
-- each role that may make partitions.
CREATE FUNCTION grant_to_service(role regrole) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    relation regclass;
BEGIN
    EXECUTE format('GRANT USAGE ON SCHEMA %I TO %s', current_schema(), role);
    FOR relation IN
        SELECT c.oid FROM pg_class c
        WHERE c.relnamespace = quote_ident(current_schema())::regnamespace
            AND c.relkind IN ('r', 'p', 'v')
            AND c.relowner = (
                SELECT m.relowner FROM pg_class m WHERE m.oid = 'schema_migration'::regclass)
            AND c.oid <> 'schema_migration'::regclass
    LOOP
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %s TO %s', relation, role);
    END LOOP;
    EXECUTE format('GRANT SELECT ON schema_migration TO %s', role);
    EXECUTE format('REVOKE UPDATE ON audit_entry FROM %s', role);
    EXECUTE format('REVOKE UPDATE, DELETE ON audit_block FROM %s', role);
    FOR relation IN
        SELECT c.oid FROM pg_class c
        WHERE c.relnamespace = quote_ident(current_schema())::regnamespace AND c.relkind = 'S'
            AND c.relowner = (
                SELECT m.relowner FROM pg_class m WHERE m.oid = 'schema_migration'::regclass)
    LOOP
        EXECUTE format('GRANT USAGE ON SEQUENCE %s TO %s', relation, role);
    END LOOP;
    -- Also where new functions are not everybody's.
    EXECUTE format('GRANT EXECUTE ON FUNCTION make_log_partition(text, date), '
        'drop_log_partition(text, date), subscriptions_to(uuid[], bigint[]) TO %s', role);
END
$$;

REVOKE ALL ON FUNCTION grant_to_service(regrole) FROM PUBLIC;
