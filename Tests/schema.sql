CREATE TYPE task_state AS ENUM ('suspended', 'scheduled', 'waiting_to_begin', 'queued', 'running', 'waiting_for_retry', 'waiting_for_connectivity', 'waiting_for_authentication', 'completed', 'failed', 'cancelled');

CREATE TABLE abandoned_part (
    fence bigint NOT NULL,
    task_id uuid NOT NULL,
    source_task_id uuid,
    CONSTRAINT abandoned_part_pkey PRIMARY KEY (fence)
) WITH (autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_cost_delay=0);

CREATE TABLE answer (
    id uuid NOT NULL,
    answered_at timestamp with time zone,
    tenant_id uuid NOT NULL,
    session_id uuid,
    origin text,
    credential text,
    CONSTRAINT answer_check CHECK ((num_nonnulls(session_id, origin) =
CASE
    WHEN (credential IS NULL) THEN 2
    ELSE 0
END)),
    CONSTRAINT answer_pkey PRIMARY KEY (id)
);

CREATE TABLE api_key (
    id text NOT NULL,
    tenant_id uuid NOT NULL,
    secret_sha256 bytea NOT NULL,
    name text NOT NULL,
    scopes text[] NOT NULL,
    created_at timestamp with time zone NOT NULL DEFAULT now(),
    last_used_at timestamp with time zone,
    expires_at timestamp with time zone,
    revoked_at timestamp with time zone,
    requests_per_second_max integer,
    CONSTRAINT api_key_pkey PRIMARY KEY (id),
    CONSTRAINT api_key_requests_per_second_max_check CHECK ((requests_per_second_max > 0)),
    CONSTRAINT api_key_scopes_check CHECK (((cardinality(scopes) > 0) AND (scopes <@ ARRAY['read'::text, 'submit'::text, 'control'::text, 'webhooks'::text, 'admin'::text]))),
    CONSTRAINT api_key_secret_sha256_check CHECK ((octet_length(secret_sha256) = 32)),
    CONSTRAINT api_key_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenant(id)
);

CREATE TABLE asked (
    task_id uuid NOT NULL,
    session_id uuid NOT NULL,
    tenant_id uuid NOT NULL,
    question text NOT NULL,
    attempt smallint NOT NULL,
    began_at timestamp with time zone,
    until timestamp with time zone NOT NULL,
    failure jsonb NOT NULL,
    origin text,
    credential text,
    attempted_at timestamp with time zone,
    CONSTRAINT asked_check CHECK ((num_nonnulls(origin, attempted_at) =
CASE question
    WHEN 'authentication'::text THEN 2
    ELSE 0
END)),
    CONSTRAINT asked_pkey PRIMARY KEY (task_id),
    CONSTRAINT asked_question_check CHECK ((question = ANY (ARRAY['begin'::text, 'authentication'::text])))
) WITH (autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_cost_delay=0);

CREATE TABLE assertion (
    id uuid NOT NULL,
    client_id uuid NOT NULL,
    name text NOT NULL,
    began_at timestamp with time zone NOT NULL DEFAULT clock_timestamp(),
    is_expiring boolean NOT NULL DEFAULT false,
    ended_at timestamp with time zone,
    is_leaked boolean NOT NULL DEFAULT false,
    CONSTRAINT assertion_check CHECK (((NOT is_leaked) OR (ended_at IS NOT NULL))),
    CONSTRAINT assertion_client_id_fkey FOREIGN KEY (client_id) REFERENCES client(id),
    CONSTRAINT assertion_name_check CHECK (((octet_length(name) >= 1) AND (octet_length(name) <= 255))),
    CONSTRAINT assertion_pkey PRIMARY KEY (id)
);

CREATE TABLE assertion_leak (
    client_id uuid NOT NULL,
    name text NOT NULL,
    count bigint NOT NULL,
    leaked_at timestamp with time zone NOT NULL,
    CONSTRAINT assertion_leak_client_id_fkey FOREIGN KEY (client_id) REFERENCES client(id),
    CONSTRAINT assertion_leak_count_check CHECK ((count > 0)),
    CONSTRAINT assertion_leak_pkey PRIMARY KEY (client_id, name)
);

CREATE TABLE attempt (
    task_id uuid NOT NULL,
    fence bigint NOT NULL,
    worker integer NOT NULL,
    number smallint NOT NULL,
    session_id uuid NOT NULL,
    host_key bigint NOT NULL,
    started_at timestamp with time zone NOT NULL DEFAULT clock_timestamp(),
    bytes_received bigint NOT NULL DEFAULT 0,
    bytes_expected bigint,
    began_at timestamp with time zone NOT NULL DEFAULT clock_timestamp(),
    resumed_at_offset bigint,
    bytes_sent bigint NOT NULL DEFAULT 0,
    bytes_to_send bigint,
    bytes_per_second bigint NOT NULL DEFAULT 0,
    CONSTRAINT attempt_number_check CHECK ((number > 0)),
    CONSTRAINT attempt_pkey PRIMARY KEY (task_id),
    CONSTRAINT attempt_resumed_at_offset_check CHECK ((resumed_at_offset > 0))
) WITH (fillfactor=60, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_cost_delay=0);

CREATE TABLE attempt_log (
    task_id uuid NOT NULL,
    fence bigint NOT NULL,
    number smallint NOT NULL,
    outcome text NOT NULL,
    started_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone NOT NULL DEFAULT clock_timestamp(),
    bytes_received bigint NOT NULL,
    resumed_at_offset bigint,
    failure jsonb,
    bytes_sent bigint NOT NULL DEFAULT 0,
    measurements text,
    CONSTRAINT attempt_log_outcome_check CHECK ((outcome = ANY (ARRAY['failed'::text, 'retried'::text, 'released'::text, 'lost'::text, 'suspended'::text, 'cancelled'::text]))),
    CONSTRAINT attempt_log_pkey PRIMARY KEY (task_id, fence, ended_at)
) PARTITION BY RANGE (ended_at);

CREATE TABLE attempt_run (
    first_fence bigint NOT NULL,
    session_id uuid NOT NULL,
    host_key bigint NOT NULL,
    number smallint NOT NULL,
    started_at timestamp with time zone NOT NULL DEFAULT clock_timestamp(),
    began_at timestamp with time zone NOT NULL,
    block bytea NOT NULL,
    task_ids uuid[] NOT NULL,
    gone bit(128) NOT NULL,
    CONSTRAINT attempt_run_block_check CHECK ((octet_length(block) = 16)),
    CONSTRAINT attempt_run_number_check CHECK ((number > 0)),
    CONSTRAINT attempt_run_pkey PRIMARY KEY (first_fence),
    CONSTRAINT attempt_run_task_ids_check CHECK ((cardinality(task_ids) <= 128))
) WITH (fillfactor=50, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_cost_delay=0);

CREATE TABLE audit_block (
    number bigint NOT NULL,
    from_epoch integer NOT NULL,
    from_transaction xid8 NOT NULL,
    before_epoch integer NOT NULL,
    before_transaction xid8 NOT NULL,
    entry_count bigint NOT NULL,
    entries_sha256 bytea NOT NULL,
    sealed_at timestamp with time zone NOT NULL,
    sha256 bytea NOT NULL,
    CONSTRAINT audit_block_entries_sha256_check CHECK ((octet_length(entries_sha256) = 32)),
    CONSTRAINT audit_block_pkey PRIMARY KEY (number),
    CONSTRAINT audit_block_sha256_check CHECK ((octet_length(sha256) = 32))
);

CREATE TABLE audit_chain (
    is_one boolean NOT NULL DEFAULT true,
    epoch integer NOT NULL DEFAULT 1,
    number bigint NOT NULL DEFAULT 0,
    sha256 bytea NOT NULL DEFAULT decode(repeat('00'::text, 32), 'hex'::text),
    before_epoch integer NOT NULL DEFAULT 1,
    before_transaction xid8 NOT NULL DEFAULT '0'::xid8,
    removed_number bigint NOT NULL DEFAULT 0,
    CONSTRAINT audit_chain_is_one_check CHECK (is_one),
    CONSTRAINT audit_chain_pkey PRIMARY KEY (is_one)
);

CREATE TABLE audit_entry (
    epoch integer NOT NULL,
    transaction xid8 NOT NULL DEFAULT pg_current_xact_id(),
    id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    recorded_at timestamp with time zone NOT NULL DEFAULT clock_timestamp(),
    request_id uuid,
    actor text,
    tenant_id uuid,
    peer text,
    action text NOT NULL,
    object text NOT NULL,
    status smallint,
    code text,
    CONSTRAINT audit_entry_action_check CHECK ((octet_length(action) <= 64)),
    CONSTRAINT audit_entry_actor_check CHECK ((octet_length(actor) <= 128)),
    CONSTRAINT audit_entry_code_check CHECK ((octet_length(code) <= 64)),
    CONSTRAINT audit_entry_object_check CHECK ((octet_length(object) <= 512)),
    CONSTRAINT audit_entry_peer_check CHECK ((octet_length(peer) <= 64)),
    CONSTRAINT audit_entry_pkey PRIMARY KEY (epoch, transaction, id)
);

CREATE TABLE background_task_handler (
    client_id uuid NOT NULL,
    identifier text NOT NULL,
    kind text NOT NULL,
    has_expiration_handler boolean NOT NULL,
    registered_at timestamp with time zone NOT NULL DEFAULT now(),
    last_launched_at timestamp with time zone,
    launched_before_at timestamp with time zone,
    CONSTRAINT background_task_handler_client_id_fkey FOREIGN KEY (client_id) REFERENCES client(id),
    CONSTRAINT background_task_handler_identifier_check CHECK (((octet_length(identifier) >= 1) AND (octet_length(identifier) <= 128))),
    CONSTRAINT background_task_handler_kind_check CHECK ((kind = ANY (ARRAY['app_refresh'::text, 'processing'::text, 'continued_processing'::text]))),
    CONSTRAINT background_task_handler_pkey PRIMARY KEY (client_id, identifier)
);

CREATE TABLE background_task_request (
    id uuid NOT NULL,
    client_id uuid NOT NULL,
    tenant_id uuid NOT NULL,
    identifier text NOT NULL,
    kind text NOT NULL,
    submitted_at timestamp with time zone NOT NULL,
    earliest_begin_at timestamp with time zone,
    requires_network boolean NOT NULL,
    requires_power boolean NOT NULL,
    min_interval_ms bigint,
    recurrence jsonb,
    cancels_transfers boolean NOT NULL,
    completes_with_transfers boolean NOT NULL,
    title text,
    subtitle text,
    occurrence_at timestamp with time zone NOT NULL,
    due_at timestamp with time zone,
    launches integer NOT NULL DEFAULT 0,
    refusals integer NOT NULL DEFAULT 0,
    waits_for text NOT NULL,
    waits_since timestamp with time zone NOT NULL,
    CONSTRAINT background_task_request_client_id_fkey FOREIGN KEY (client_id) REFERENCES client(id),
    CONSTRAINT background_task_request_client_id_identifier_key UNIQUE (client_id, identifier),
    CONSTRAINT background_task_request_min_interval_ms_check CHECK ((min_interval_ms > 0)),
    CONSTRAINT background_task_request_pkey PRIMARY KEY (id),
    CONSTRAINT background_task_request_subtitle_check CHECK ((octet_length(subtitle) <= 200)),
    CONSTRAINT background_task_request_title_check CHECK ((octet_length(title) <= 200)),
    CONSTRAINT background_task_request_waits_for_check CHECK ((waits_for = ANY (ARRAY['date'::text, 'interval'::text, 'relaunch'::text, 'network'::text, 'capacity'::text, 'run'::text, 'budget'::text, 'subscription'::text, 'client_force_quit'::text, 'disabled'::text])))
) WITH (fillfactor=70, autovacuum_vacuum_scale_factor=0.05);

CREATE TABLE background_task_run (
    id uuid NOT NULL,
    client_id uuid NOT NULL,
    tenant_id uuid NOT NULL,
    request_id uuid NOT NULL,
    identifier text NOT NULL,
    kind text NOT NULL,
    occurrence_at timestamp with time zone,
    launched_at timestamp with time zone NOT NULL,
    launch_sequence bigint NOT NULL,
    deadline_at timestamp with time zone NOT NULL,
    has_expiration_handler boolean NOT NULL,
    cancels_transfers boolean NOT NULL,
    completes_with_transfers boolean NOT NULL,
    drained_before uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000'::uuid,
    is_drain_whole boolean NOT NULL DEFAULT true,
    has_failed_transfer boolean NOT NULL DEFAULT false,
    is_draining boolean NOT NULL DEFAULT false,
    title text,
    subtitle text,
    completed_units bigint,
    total_units bigint,
    accepted_at timestamp with time zone,
    is_expiring boolean NOT NULL DEFAULT false,
    ended_at timestamp with time zone,
    reason text,
    must_cancel boolean NOT NULL DEFAULT false,
    CONSTRAINT background_task_run_check CHECK (((ended_at IS NULL) = (reason IS NULL))),
    CONSTRAINT background_task_run_pkey PRIMARY KEY (id),
    CONSTRAINT background_task_run_reason_check CHECK ((reason = ANY (ARRAY['completed_by_client'::text, 'failed_by_client'::text, 'transfers_completed'::text, 'transfers_failed'::text, 'deadline_passed'::text, 'not_accepted'::text, 'client_force_quit'::text])))
) WITH (fillfactor=70, autovacuum_vacuum_scale_factor=0.05);

CREATE TABLE background_task_transfer (
    run_id uuid NOT NULL,
    task_id uuid NOT NULL,
    CONSTRAINT background_task_transfer_pkey PRIMARY KEY (run_id, task_id)
);

CREATE TABLE bulk_operation (
    id uuid NOT NULL,
    tenant_id uuid NOT NULL,
    session_id uuid NOT NULL,
    verb text NOT NULL,
    states text[] NOT NULL,
    state text NOT NULL DEFAULT 'running'::text,
    reason text,
    matching bigint NOT NULL,
    changed bigint NOT NULL DEFAULT 0,
    looked_through uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000'::uuid,
    created_at timestamp with time zone NOT NULL DEFAULT clock_timestamp(),
    finished_at timestamp with time zone,
    CONSTRAINT bulk_operation_check CHECK (((state = 'running'::text) = (finished_at IS NULL))),
    CONSTRAINT bulk_operation_pkey PRIMARY KEY (id),
    CONSTRAINT bulk_operation_state_check CHECK ((state = ANY (ARRAY['running'::text, 'completed'::text, 'stopped'::text]))),
    CONSTRAINT bulk_operation_verb_check CHECK ((verb = ANY (ARRAY['resume'::text, 'suspend'::text, 'cancel'::text, 'retry'::text])))
) WITH (autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_cost_delay=0);

CREATE TABLE cancellation (
    session_id uuid NOT NULL,
    tenant_id uuid NOT NULL,
    cancelled_through uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000'::uuid,
    CONSTRAINT cancellation_pkey PRIMARY KEY (session_id)
);

CREATE TABLE client (
    tenant_id uuid NOT NULL,
    identifier text NOT NULL,
    kind text NOT NULL,
    lifecycle text NOT NULL DEFAULT 'active'::text,
    lifecycle_changed_at timestamp with time zone NOT NULL DEFAULT now(),
    created_at timestamp with time zone NOT NULL DEFAULT now(),
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    grace_ends_at timestamp with time zone,
    assertions_end_at timestamp with time zone,
    removed_at timestamp with time zone,
    CONSTRAINT client_check CHECK (((lifecycle = 'background'::text) = (grace_ends_at IS NOT NULL))),
    CONSTRAINT client_check1 CHECK (((lifecycle = 'background'::text) = (assertions_end_at IS NOT NULL))),
    CONSTRAINT client_id_key UNIQUE (id),
    CONSTRAINT client_identifier_check CHECK (((octet_length(identifier) >= 1) AND (octet_length(identifier) <= 64))),
    CONSTRAINT client_kind_check CHECK ((kind = ANY (ARRAY['app'::text, 'extension'::text]))),
    CONSTRAINT client_lifecycle_check CHECK ((lifecycle = ANY (ARRAY['active'::text, 'background'::text, 'suspended'::text, 'terminated'::text, 'force_quit'::text]))),
    CONSTRAINT client_pkey PRIMARY KEY (tenant_id, identifier),
    CONSTRAINT client_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenant(id)
);

CREATE TABLE client_resumption (
    client_id uuid NOT NULL,
    tenant_id uuid NOT NULL,
    launched_at timestamp with time zone NOT NULL,
    resumed_before uuid NOT NULL,
    CONSTRAINT client_resumption_pkey PRIMARY KEY (client_id)
);

CREATE TABLE client_string_change (
    task_id uuid NOT NULL,
    through_sequence bigint NOT NULL,
    client_string bytea,
    CONSTRAINT client_string_change_client_string_check CHECK ((octet_length(client_string) <= 65536)),
    CONSTRAINT client_string_change_pkey PRIMARY KEY (task_id, through_sequence)
);

CREATE TABLE credential (
    id uuid NOT NULL,
    tenant_id uuid NOT NULL,
    name text,
    kind text NOT NULL,
    form jsonb NOT NULL,
    origins text[] NOT NULL,
    secret bytea NOT NULL,
    created_at timestamp with time zone NOT NULL DEFAULT now(),
    updated_at timestamp with time zone NOT NULL DEFAULT clock_timestamp(),
    version bigint NOT NULL DEFAULT 1,
    access_token bytea,
    access_expires_at timestamp with time zone,
    refreshing_until timestamp with time zone,
    failure text,
    CONSTRAINT credential_failure_check CHECK ((octet_length(failure) <= 255)),
    CONSTRAINT credential_kind_check CHECK ((kind = ANY (ARRAY['bearer'::text, 'basic'::text, 'header'::text, 'oauth2_refresh_token'::text, 'client_certificate'::text]))),
    CONSTRAINT credential_name_check CHECK (((octet_length(name) >= 1) AND (octet_length(name) <= 64))),
    CONSTRAINT credential_pkey PRIMARY KEY (id),
    CONSTRAINT credential_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenant(id)
);

CREATE TABLE delayed (
    task_id uuid NOT NULL,
    due_at timestamp with time zone NOT NULL,
    attempt smallint NOT NULL,
    failure jsonb,
    host_key bigint NOT NULL,
    priority_rank smallint NOT NULL,
    began_at timestamp with time zone,
    awaits_host boolean NOT NULL DEFAULT false,
    asks_to_begin boolean NOT NULL DEFAULT false,
    session_id uuid NOT NULL,
    CONSTRAINT delayed_pkey PRIMARY KEY (task_id)
) WITH (autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_cost_delay=0);

CREATE TABLE delivery (
    subscription_id uuid NOT NULL,
    session_id uuid NOT NULL,
    acknowledged_sequence bigint NOT NULL,
    due_at timestamp with time zone,
    fence bigint,
    worker integer,
    attempt smallint NOT NULL DEFAULT 0,
    last_status smallint,
    last_error text,
    attempted_at timestamp with time zone,
    tried_sequence bigint,
    tried_batch uuid,
    launches_after bigint,
    CONSTRAINT delivery_pkey PRIMARY KEY (subscription_id, session_id)
) WITH (fillfactor=50, autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_cost_delay=0);

CREATE TABLE delivery_attempt (
    delivery_id uuid NOT NULL,
    number integer NOT NULL,
    is_replay boolean NOT NULL,
    attempted_at timestamp with time zone NOT NULL,
    duration_ms integer NOT NULL,
    status smallint,
    reason text,
    answer text,
    CONSTRAINT delivery_attempt_answer_check CHECK ((octet_length(answer) <= 4096)),
    CONSTRAINT delivery_attempt_delivery_id_fkey FOREIGN KEY (delivery_id) REFERENCES delivery_log(id) ON DELETE CASCADE,
    CONSTRAINT delivery_attempt_pkey PRIMARY KEY (delivery_id, number)
) WITH (autovacuum_vacuum_scale_factor=0.05);

CREATE TABLE delivery_log (
    id uuid NOT NULL,
    subscription_id uuid NOT NULL,
    session_id uuid NOT NULL,
    sequence bigint NOT NULL,
    state text NOT NULL,
    died_at timestamp with time zone,
    replay_due_at timestamp with time zone,
    replay_fence bigint,
    batch_id uuid,
    batch_first bigint,
    event_count integer NOT NULL DEFAULT 1,
    CONSTRAINT delivery_log_check CHECK (((state <> ALL (ARRAY['dead'::text, 'expired'::text])) OR (died_at IS NOT NULL))),
    CONSTRAINT delivery_log_check1 CHECK (((batch_first >= 1) AND (batch_first <= sequence))),
    CONSTRAINT delivery_log_check2 CHECK ((((batch_id IS NULL) AND (state <> 'expired'::text)) = (batch_first IS NULL))),
    CONSTRAINT delivery_log_event_count_check CHECK ((event_count > 0)),
    CONSTRAINT delivery_log_pkey PRIMARY KEY (id),
    CONSTRAINT delivery_log_state_check CHECK ((state = ANY (ARRAY['waiting'::text, 'delivered'::text, 'dead'::text, 'expired'::text]))),
    CONSTRAINT delivery_log_subscription_id_session_id_sequence_key UNIQUE (subscription_id, session_id, sequence)
) WITH (autovacuum_vacuum_scale_factor=0.05);

CREATE TABLE delivery_restart (
    subscription_id uuid NOT NULL,
    tenant_id uuid NOT NULL,
    requested_at timestamp with time zone NOT NULL DEFAULT clock_timestamp(),
    includes_awaited boolean NOT NULL,
    restarted_through uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000'::uuid,
    CONSTRAINT delivery_restart_pkey PRIMARY KEY (subscription_id)
);

CREATE TABLE erasure (
    session_id uuid NOT NULL,
    begun_at timestamp with time zone NOT NULL DEFAULT now(),
    CONSTRAINT erasure_pkey PRIMARY KEY (session_id)
);

CREATE TABLE event_feed (
    tenant_id uuid NOT NULL,
    last_position bigint NOT NULL,
    first_position bigint NOT NULL,
    session_id uuid NOT NULL,
    first_sequence bigint NOT NULL,
    first_occurred_at timestamp with time zone NOT NULL,
    last_occurred_at timestamp with time zone NOT NULL,
    CONSTRAINT event_feed_check CHECK (((first_position >= 1) AND (first_position <= last_position))),
    CONSTRAINT event_feed_first_sequence_check CHECK ((first_sequence > 0)),
    CONSTRAINT event_feed_pkey PRIMARY KEY (tenant_id, last_position, last_occurred_at)
) PARTITION BY RANGE (last_occurred_at);

CREATE TABLE event_run (
    session_id uuid NOT NULL,
    last_sequence bigint NOT NULL,
    first_sequence bigint NOT NULL,
    kind text NOT NULL,
    generation bigint NOT NULL,
    occurred_at timestamp with time zone NOT NULL DEFAULT clock_timestamp(),
    task_ids uuid[],
    task_state task_state,
    attempts smallint[],
    bytes_received bigint[],
    failures jsonb[],
    bytes_expected bigint[],
    bytes_sent bigint[],
    bytes_to_send bigint[],
    summary jsonb,
    details jsonb,
    CONSTRAINT event_run_check CHECK (((task_ids IS NULL) = (task_state IS NULL))),
    CONSTRAINT event_run_first_sequence_check CHECK ((first_sequence > 0)),
    CONSTRAINT event_run_length_check CHECK ((((last_sequence - first_sequence) + 1) = COALESCE(cardinality(task_ids), 1))),
    CONSTRAINT event_run_pkey PRIMARY KEY (session_id, last_sequence, occurred_at)
) PARTITION BY RANGE (occurred_at);

CREATE TABLE expired_task (
    task_id uuid NOT NULL,
    session_id uuid NOT NULL,
    tenant_id uuid NOT NULL,
    generation bigint NOT NULL,
    finished_at timestamp with time zone NOT NULL,
    failure_code text,
    client_string bytea,
    CONSTRAINT expired_task_client_string_check CHECK ((octet_length(client_string) <= 65536)),
    CONSTRAINT expired_task_pkey PRIMARY KEY (task_id)
) WITH (autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_insert_scale_factor=0.05);

CREATE TABLE failure_streak (
    subscription_id uuid NOT NULL,
    failing_since timestamp with time zone NOT NULL DEFAULT clock_timestamp(),
    failures integer NOT NULL,
    paused_until timestamp with time zone,
    probe_fence bigint,
    returns_through timestamp with time zone,
    CONSTRAINT failure_streak_pkey PRIMARY KEY (subscription_id)
) WITH (fillfactor=50);

CREATE TABLE feed_session (
    session_id uuid NOT NULL,
    first_sequence bigint NOT NULL,
    last_sequence bigint NOT NULL,
    CONSTRAINT feed_session_pkey PRIMARY KEY (session_id)
) WITH (fillfactor=50, autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_cost_delay=0);

CREATE TABLE feed_tenant (
    tenant_id uuid NOT NULL,
    last_position bigint NOT NULL,
    last_occurred_at timestamp with time zone NOT NULL,
    CONSTRAINT feed_tenant_pkey PRIMARY KEY (tenant_id)
) WITH (fillfactor=50, autovacuum_vacuum_threshold=200, autovacuum_vacuum_cost_delay=0);

CREATE TABLE held (
    task_id uuid NOT NULL,
    attempt smallint NOT NULL DEFAULT 0,
    awaits_body boolean NOT NULL DEFAULT false,
    autostart boolean NOT NULL DEFAULT false,
    CONSTRAINT held_pkey PRIMARY KEY (task_id)
) WITH (autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_cost_delay=0);

CREATE TABLE host (
    host_key bigint NOT NULL,
    name text NOT NULL,
    connections_max smallint,
    connections smallint,
    is_closed boolean NOT NULL DEFAULT false,
    changed_at timestamp with time zone NOT NULL DEFAULT clock_timestamp(),
    shard smallint NOT NULL DEFAULT ((host_key >> 58) + 32),
    CONSTRAINT host_connections_check CHECK ((connections > 0)),
    CONSTRAINT host_connections_max_check CHECK ((connections_max > 0)),
    CONSTRAINT host_name_check CHECK (((octet_length(name) >= 1) AND (octet_length(name) <= 300))),
    CONSTRAINT host_pkey PRIMARY KEY (host_key)
) WITH (fillfactor=70);

CREATE TABLE host_decision (
    host_key bigint NOT NULL,
    id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    decided_at timestamp with time zone NOT NULL,
    connections_before smallint NOT NULL,
    connections_after smallint NOT NULL,
    reason text NOT NULL,
    CONSTRAINT host_decision_pkey PRIMARY KEY (host_key, id)
);

CREATE TABLE host_tenant (
    tenant_id uuid NOT NULL,
    host_key bigint NOT NULL,
    CONSTRAINT host_tenant_pkey PRIMARY KEY (tenant_id, host_key)
);

CREATE TABLE idempotency_key (
    tenant_id uuid NOT NULL,
    key bytea NOT NULL,
    request_sha256 bytea NOT NULL,
    status smallint NOT NULL,
    location text,
    body bytea NOT NULL,
    created_at timestamp with time zone NOT NULL DEFAULT now(),
    CONSTRAINT idempotency_key_key_check CHECK (((octet_length(key) >= 1) AND (octet_length(key) <= 255))),
    CONSTRAINT idempotency_key_pkey PRIMARY KEY (tenant_id, key),
    CONSTRAINT idempotency_key_request_sha256_check CHECK ((octet_length(request_sha256) = 32))
) WITH (autovacuum_vacuum_scale_factor=0.05);

CREATE TABLE limit_change (
    is_only boolean NOT NULL DEFAULT true,
    version bigint NOT NULL,
    CONSTRAINT limit_change_is_only_check CHECK (is_only),
    CONSTRAINT limit_change_pkey PRIMARY KEY (is_only)
);

CREATE TABLE listener (
    id uuid NOT NULL,
    machine text NOT NULL,
    addresses bytea[] NOT NULL,
    port integer NOT NULL,
    seen_at timestamp with time zone NOT NULL,
    CONSTRAINT listener_addresses_check CHECK ((cardinality(addresses) <= 256)),
    CONSTRAINT listener_machine_check CHECK ((octet_length(machine) <= 128)),
    CONSTRAINT listener_pkey PRIMARY KEY (id),
    CONSTRAINT listener_port_check CHECK (((port >= 1) AND (port <= 65535)))
);

CREATE TABLE outcome (
    task_id uuid NOT NULL,
    session_id uuid NOT NULL,
    generation bigint NOT NULL,
    state task_state NOT NULL,
    attempt smallint NOT NULL,
    bytes_received bigint NOT NULL,
    http_status smallint,
    response_head text,
    failure jsonb,
    finished_at timestamp with time zone NOT NULL DEFAULT clock_timestamp(),
    bytes_sent bigint NOT NULL DEFAULT 0,
    response_body bytea,
    part_fence bigint,
    fence bigint,
    started_at timestamp with time zone,
    resumed_at_offset bigint,
    measurements text,
    result_gone_at timestamp with time zone,
    CONSTRAINT outcome_attempt_check CHECK (((fence IS NULL) = (started_at IS NULL))),
    CONSTRAINT outcome_check CHECK (((state = 'completed'::task_state) = (response_head IS NOT NULL))),
    CONSTRAINT outcome_failure_check CHECK (
CASE state
    WHEN 'failed'::task_state THEN (failure IS NOT NULL)
    WHEN 'completed'::task_state THEN (failure IS NULL)
    ELSE true
END),
    CONSTRAINT outcome_pkey PRIMARY KEY (task_id),
    CONSTRAINT outcome_response_body_check CHECK ((octet_length(response_body) <= 262144)),
    CONSTRAINT outcome_state_check CHECK ((state = ANY (ARRAY['completed'::task_state, 'failed'::task_state, 'cancelled'::task_state])))
) WITH (autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_insert_scale_factor=0.05);

CREATE TABLE partial (
    task_id uuid NOT NULL,
    part_fence bigint NOT NULL,
    source_task_id uuid,
    boot_id uuid NOT NULL,
    bytes_durable bigint NOT NULL,
    bytes_total bigint NOT NULL,
    validator text NOT NULL,
    ranges int8multirange,
    coding text,
    may_be_of_another boolean NOT NULL DEFAULT false,
    CONSTRAINT partial_bytes_durable_check CHECK ((bytes_durable >= 0)),
    CONSTRAINT partial_bytes_total_check CHECK ((bytes_total > 0)),
    CONSTRAINT partial_check CHECK (((lower(ranges) >= 0) AND (upper(ranges) <= bytes_total))),
    CONSTRAINT partial_coding_check CHECK (((octet_length(coding) >= 1) AND (octet_length(coding) <= 255))),
    CONSTRAINT partial_pkey PRIMARY KEY (task_id),
    CONSTRAINT partial_validator_check CHECK (((octet_length(validator) >= 2) AND (octet_length(validator) <= 255)))
) WITH (autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_cost_delay=0);

CREATE TABLE pause (
    id uuid NOT NULL,
    tenant_id uuid,
    host_key bigint,
    host_name text,
    is_by_tenant boolean NOT NULL,
    gives_back boolean NOT NULL,
    paused_at timestamp with time zone NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT pause_check CHECK (((host_key IS NULL) = (host_name IS NULL))),
    CONSTRAINT pause_check1 CHECK (((tenant_id IS NOT NULL) OR (NOT is_by_tenant))),
    CONSTRAINT pause_host_name_check CHECK (((octet_length(host_name) >= 1) AND (octet_length(host_name) <= 300))),
    CONSTRAINT pause_pkey PRIMARY KEY (id),
    CONSTRAINT pause_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenant(id)
);

CREATE TABLE ready_run (
    host_key bigint NOT NULL,
    priority_rank smallint NOT NULL,
    last_task_id uuid NOT NULL,
    attempt smallint NOT NULL,
    began_at timestamp with time zone,
    session_id uuid NOT NULL,
    task_ids uuid[] NOT NULL,
    CONSTRAINT ready_run_check CHECK ((task_ids[cardinality(task_ids)] = last_task_id)),
    CONSTRAINT ready_run_pkey PRIMARY KEY (host_key, session_id, priority_rank, last_task_id)
) WITH (fillfactor=70, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_cost_delay=0);

CREATE TABLE rename_run (
    first_fence bigint NOT NULL,
    session_id uuid NOT NULL,
    block bytea NOT NULL,
    number smallint NOT NULL,
    started_at timestamp with time zone NOT NULL,
    resumed_at_offset bigint,
    task_ids uuid[] NOT NULL,
    part_fences bigint[] NOT NULL,
    http_statuses smallint[] NOT NULL,
    bytes_received bigint[] NOT NULL,
    response_heads text[] NOT NULL,
    inodes bigint[] NOT NULL,
    inodes_born_at_ns bigint[] NOT NULL,
    gone bit(32) NOT NULL,
    CONSTRAINT rename_run_block_check CHECK ((octet_length(block) = 16)),
    CONSTRAINT rename_run_columns_are_whole CHECK (((cardinality(part_fences) = cardinality(task_ids)) AND (cardinality(http_statuses) = cardinality(task_ids)) AND (cardinality(bytes_received) = cardinality(task_ids)) AND (cardinality(response_heads) = cardinality(task_ids)) AND (cardinality(inodes) = cardinality(task_ids)) AND (cardinality(inodes_born_at_ns) = cardinality(task_ids)))),
    CONSTRAINT rename_run_inodes_are_whole CHECK (((array_position(inodes, NULL::bigint) IS NULL) AND (array_position(inodes_born_at_ns, NULL::bigint) IS NULL))),
    CONSTRAINT rename_run_pkey PRIMARY KEY (first_fence),
    CONSTRAINT rename_run_task_ids_check CHECK (((cardinality(task_ids) >= 1) AND (cardinality(task_ids) <= 32)))
) WITH (autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_cost_delay=0, toast_tuple_target=8160);

CREATE TABLE result_hold (
    task_id uuid NOT NULL,
    source_task_id uuid NOT NULL,
    CONSTRAINT result_hold_pkey PRIMARY KEY (task_id)
) WITH (autovacuum_vacuum_scale_factor=0.05);

CREATE TABLE resume_data (
    id uuid NOT NULL,
    tenant_id uuid NOT NULL,
    part_fence bigint NOT NULL,
    source_task_id uuid NOT NULL,
    boot_id uuid NOT NULL,
    bytes_durable bigint NOT NULL,
    bytes_total bigint NOT NULL,
    validator text NOT NULL,
    created_at timestamp with time zone NOT NULL DEFAULT now(),
    ranges int8multirange,
    coding text,
    may_be_of_another boolean NOT NULL DEFAULT false,
    CONSTRAINT resume_data_pkey PRIMARY KEY (id)
);

CREATE TABLE retried_failure (
    session_id uuid NOT NULL,
    generation bigint NOT NULL,
    task_id uuid NOT NULL,
    failure_code text NOT NULL,
    CONSTRAINT retried_failure_pkey PRIMARY KEY (session_id, generation, task_id)
);

CREATE TABLE revocation (
    worker integer NOT NULL,
    fence bigint NOT NULL,
    task_id uuid NOT NULL,
    CONSTRAINT revocation_pkey PRIMARY KEY (fence)
) WITH (autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_cost_delay=0);

CREATE TABLE secrets_key (
    name bytea NOT NULL,
    first_used_at timestamp with time zone NOT NULL DEFAULT now(),
    used_at timestamp with time zone NOT NULL DEFAULT now(),
    CONSTRAINT secrets_key_name_check CHECK ((octet_length(name) = 4)),
    CONSTRAINT secrets_key_pkey PRIMARY KEY (name)
);

CREATE TABLE session (
    id uuid NOT NULL,
    tenant_id uuid NOT NULL,
    identifier text NOT NULL,
    timeout_for_request_ms bigint NOT NULL,
    timeout_for_resource_ms bigint NOT NULL,
    additional_headers jsonb NOT NULL,
    created_at timestamp with time zone NOT NULL DEFAULT now(),
    invalidated_at timestamp with time zone,
    options jsonb,
    has_credentials boolean NOT NULL DEFAULT false,
    kind text NOT NULL DEFAULT 'background'::text,
    total_bytes_per_second_max bigint,
    revision integer NOT NULL DEFAULT 1,
    client text NOT NULL DEFAULT 'default'::text,
    shared_container_identifier text,
    result_retention_ms bigint,
    max_connections_per_host smallint,
    is_discretionary boolean NOT NULL DEFAULT false,
    CONSTRAINT session_identifier_check CHECK (((octet_length(identifier) >= 1) AND (octet_length(identifier) <= 255))),
    CONSTRAINT session_kind_check CHECK ((kind = ANY (ARRAY['background'::text, 'ephemeral'::text]))),
    CONSTRAINT session_max_connections_per_host_check CHECK ((max_connections_per_host > 0)),
    CONSTRAINT session_pkey PRIMARY KEY (id),
    CONSTRAINT session_result_retention_ms_check CHECK ((result_retention_ms > 0)),
    CONSTRAINT session_shared_container_identifier_check CHECK (((octet_length(shared_container_identifier) >= 1) AND (octet_length(shared_container_identifier) <= 64))),
    CONSTRAINT session_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenant(id),
    CONSTRAINT session_timeout_for_request_ms_check CHECK ((timeout_for_request_ms > 0)),
    CONSTRAINT session_timeout_for_resource_ms_check CHECK ((timeout_for_resource_ms > 0)),
    CONSTRAINT session_total_bytes_per_second_max_check CHECK ((total_bytes_per_second_max > 0))
);

CREATE TABLE session_credential (
    session_id uuid NOT NULL,
    origin text NOT NULL,
    credential_id uuid NOT NULL,
    updated_at timestamp with time zone NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT session_credential_pkey PRIMARY KEY (session_id, origin)
);

CREATE TABLE session_progress (
    session_id uuid NOT NULL,
    generation bigint NOT NULL DEFAULT 0,
    outstanding bigint NOT NULL DEFAULT 0,
    completed bigint NOT NULL DEFAULT 0,
    failed bigint NOT NULL DEFAULT 0,
    cancelled bigint NOT NULL DEFAULT 0,
    last_sequence bigint NOT NULL DEFAULT 0,
    is_invalidated boolean NOT NULL DEFAULT false,
    is_force_quit boolean NOT NULL DEFAULT false,
    is_finishing boolean NOT NULL DEFAULT false,
    is_pending_told boolean NOT NULL DEFAULT false,
    CONSTRAINT session_progress_outstanding_check CHECK ((outstanding >= 0)),
    CONSTRAINT session_progress_pkey PRIMARY KEY (session_id)
) WITH (fillfactor=30, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_cost_delay=0);

CREATE TABLE session_task_count (
    session_id uuid NOT NULL,
    state task_state NOT NULL,
    tasks bigint NOT NULL,
    bytes_received bigint NOT NULL,
    bytes_sent bigint NOT NULL,
    CONSTRAINT session_task_count_pkey PRIMARY KEY (session_id, state)
) WITH (fillfactor=50, autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_cost_delay=0);

CREATE TABLE shard (
    number smallint NOT NULL,
    worker integer,
    CONSTRAINT shard_number_check CHECK (((number >= 0) AND (number <= 63))),
    CONSTRAINT shard_pkey PRIMARY KEY (number)
) WITH (fillfactor=50);

CREATE TABLE signing_secret (
    subscription_id uuid NOT NULL,
    number integer NOT NULL,
    secret bytea NOT NULL,
    expires_at timestamp with time zone,
    CONSTRAINT signing_secret_number_check CHECK ((number > 0)),
    CONSTRAINT signing_secret_pkey PRIMARY KEY (subscription_id, number),
    CONSTRAINT signing_secret_secret_check CHECK (((octet_length(secret) >= 24) AND (octet_length(secret) <= 128))),
    CONSTRAINT signing_secret_subscription_id_fkey FOREIGN KEY (subscription_id) REFERENCES subscription(id)
);

CREATE TABLE staged_body (
    task_id uuid NOT NULL,
    tenant_id uuid NOT NULL,
    bytes bigint NOT NULL,
    CONSTRAINT staged_body_bytes_check CHECK ((bytes >= 0)),
    CONSTRAINT staged_body_pkey PRIMARY KEY (task_id)
);

CREATE TABLE subscription (
    id uuid NOT NULL,
    tenant_id uuid NOT NULL,
    session_identifier text,
    url text NOT NULL,
    event_types text[],
    created_at timestamp with time zone NOT NULL DEFAULT now(),
    deleted_at timestamp with time zone,
    description text,
    headers jsonb NOT NULL DEFAULT '[]'::jsonb,
    concurrency smallint,
    rate_limit smallint,
    disabled_at timestamp with time zone,
    disabled_reason text,
    ack_key bytea NOT NULL DEFAULT (uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())),
    ack_timeout_ms bigint NOT NULL DEFAULT 600000,
    delivery_form text NOT NULL DEFAULT 'single'::text,
    wake_up_throttling boolean NOT NULL DEFAULT false,
    client text,
    is_living boolean NOT NULL DEFAULT (deleted_at IS NULL),
    revision integer NOT NULL DEFAULT 0,
    CONSTRAINT subscription_ack_key_check CHECK ((octet_length(ack_key) = 32)),
    CONSTRAINT subscription_ack_timeout_ms_check CHECK (((ack_timeout_ms >= 1000) AND (ack_timeout_ms <= 86400000))),
    CONSTRAINT subscription_check CHECK (((disabled_at IS NULL) = (disabled_reason IS NULL))),
    CONSTRAINT subscription_check1 CHECK (((session_identifier IS NULL) OR (client IS NOT NULL))),
    CONSTRAINT subscription_concurrency_check CHECK (((concurrency >= 1) AND (concurrency <= 16))),
    CONSTRAINT subscription_delivery_form_check CHECK ((delivery_form = ANY (ARRAY['single'::text, 'batch'::text]))),
    CONSTRAINT subscription_description_check CHECK ((octet_length(description) <= 1000)),
    CONSTRAINT subscription_disabled_reason_check CHECK ((disabled_reason = ANY (ARRAY['client'::text, 'gone'::text, 'failing'::text]))),
    CONSTRAINT subscription_pkey PRIMARY KEY (id),
    CONSTRAINT subscription_rate_limit_check CHECK (((rate_limit >= 1) AND (rate_limit <= 1000))),
    CONSTRAINT subscription_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenant(id)
);

CREATE TABLE task (
    id uuid NOT NULL,
    session_id uuid NOT NULL,
    tenant_id uuid NOT NULL,
    generation bigint NOT NULL,
    host_key bigint NOT NULL,
    priority_rank smallint NOT NULL,
    url text NOT NULL,
    headers jsonb,
    client_string bytea,
    earliest_begin_at timestamp with time zone,
    destination_path text,
    destination_overwrite boolean,
    created_at timestamp with time zone NOT NULL,
    options jsonb,
    kind text NOT NULL DEFAULT 'download'::text,
    method text,
    upload_path text,
    upload_is_staged boolean NOT NULL DEFAULT false,
    upload_data bytea,
    upload_is_copy boolean NOT NULL DEFAULT false,
    revision integer NOT NULL DEFAULT 0,
    CONSTRAINT task_check CHECK (((destination_path IS NULL) = (destination_overwrite IS NULL))),
    CONSTRAINT task_client_string_check CHECK ((octet_length(client_string) <= 65536)),
    CONSTRAINT task_copy_check CHECK (((NOT upload_is_copy) OR ((kind = 'upload'::text) AND (upload_data IS NOT NULL)))),
    CONSTRAINT task_kind_check CHECK ((kind = ANY (ARRAY['download'::text, 'upload'::text, 'data'::text]))),
    CONSTRAINT task_method_check CHECK (((octet_length(method) >= 1) AND (octet_length(method) <= 32))),
    CONSTRAINT task_pkey PRIMARY KEY (id),
    CONSTRAINT task_priority_rank_check CHECK (((priority_rank >= 0) AND (priority_rank <= 1000))),
    CONSTRAINT task_upload_check CHECK ((((((upload_path IS NOT NULL))::integer + (upload_is_staged)::integer) + ((upload_data IS NOT NULL))::integer) =
CASE kind
    WHEN 'upload'::text THEN 1
    ELSE ((upload_data IS NOT NULL))::integer
END)),
    CONSTRAINT task_upload_data_check CHECK ((octet_length(upload_data) <= 65664))
) WITH (autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_insert_scale_factor=0.05);

CREATE TABLE task_count (
    state task_state NOT NULL,
    tasks bigint NOT NULL,
    CONSTRAINT task_count_pkey PRIMARY KEY (state)
) WITH (fillfactor=50, autovacuum_vacuum_threshold=200, autovacuum_vacuum_cost_delay=0);

CREATE TABLE task_mirror (
    task_id uuid NOT NULL,
    rank smallint NOT NULL,
    url_host_key bigint NOT NULL,
    given_up smallint NOT NULL,
    is_offline boolean NOT NULL,
    rests_until timestamp with time zone,
    CONSTRAINT task_mirror_given_up_check CHECK (((given_up >= 0) AND (given_up <= 511))),
    CONSTRAINT task_mirror_pkey PRIMARY KEY (task_id),
    CONSTRAINT task_mirror_rank_check CHECK (((rank >= 0) AND (rank <= 8)))
) WITH (autovacuum_vacuum_scale_factor=0.05);

CREATE TABLE task_move (
    tenant_id uuid NOT NULL,
    session_id uuid NOT NULL,
    from_state task_state,
    to_state task_state,
    tasks bigint NOT NULL,
    bytes_received bigint NOT NULL,
    bytes_sent bigint NOT NULL,
    CONSTRAINT task_move_tasks_check CHECK ((tasks > 0))
) WITH (autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_cost_delay=0);

CREATE TABLE task_owner (
    task_id uuid NOT NULL,
    tenant_id uuid NOT NULL,
    lease_token uuid NOT NULL,
    owner text,
    expires_at timestamp with time zone,
    client_id uuid NOT NULL,
    CONSTRAINT task_owner_owner_check CHECK (((octet_length(owner) >= 1) AND (octet_length(owner) <= 255))),
    CONSTRAINT task_owner_pkey PRIMARY KEY (task_id)
) WITH (autovacuum_vacuum_scale_factor=0.05);

CREATE TABLE tenant (
    id uuid NOT NULL,
    name text NOT NULL,
    created_at timestamp with time zone NOT NULL DEFAULT now(),
    certificate_authorities bytea,
    total_bytes_per_second_max bigint,
    outstanding_tasks_max bigint,
    running_tasks_max integer,
    requests_per_second_max integer,
    assertion_budget_ms bigint NOT NULL DEFAULT 30000,
    permitted_background_tasks text[] NOT NULL DEFAULT '{}'::text[],
    are_background_tasks_on boolean NOT NULL DEFAULT true,
    app_refresh_time_ms bigint NOT NULL DEFAULT 30000,
    processing_time_ms bigint NOT NULL DEFAULT 600000,
    capacity text NOT NULL DEFAULT 'idle'::text,
    background_revision integer NOT NULL DEFAULT 0,
    stored_bytes_max bigint,
    in_flight_bytes_max bigint,
    egress_rules jsonb,
    removed_at timestamp with time zone,
    is_for_tests boolean NOT NULL DEFAULT false,
    CONSTRAINT tenant_app_refresh_time_ms_check CHECK (((app_refresh_time_ms >= 5000) AND (app_refresh_time_ms <= 600000))),
    CONSTRAINT tenant_assertion_budget_ms_check CHECK (((assertion_budget_ms >= 5000) AND (assertion_budget_ms <= 600000))),
    CONSTRAINT tenant_capacity_check CHECK ((capacity = ANY (ARRAY['idle'::text, 'busy'::text]))),
    CONSTRAINT tenant_certificate_authorities_check CHECK (((octet_length(certificate_authorities) >= 1) AND (octet_length(certificate_authorities) <= 65536))),
    CONSTRAINT tenant_egress_rules_check CHECK ((octet_length((egress_rules)::text) <= 65536)),
    CONSTRAINT tenant_in_flight_bytes_max_check CHECK ((in_flight_bytes_max > 0)),
    CONSTRAINT tenant_name_key UNIQUE (name),
    CONSTRAINT tenant_outstanding_tasks_max_check CHECK ((outstanding_tasks_max > 0)),
    CONSTRAINT tenant_permitted_background_tasks_check CHECK ((cardinality(permitted_background_tasks) <= 100)),
    CONSTRAINT tenant_pkey PRIMARY KEY (id),
    CONSTRAINT tenant_processing_time_ms_check CHECK (((processing_time_ms >= 5000) AND (processing_time_ms <= 21600000))),
    CONSTRAINT tenant_requests_per_second_max_check CHECK ((requests_per_second_max > 0)),
    CONSTRAINT tenant_running_tasks_max_check CHECK ((running_tasks_max > 0)),
    CONSTRAINT tenant_stored_bytes_max_check CHECK ((stored_bytes_max > 0)),
    CONSTRAINT tenant_total_bytes_per_second_max_check CHECK ((total_bytes_per_second_max > 0))
);

CREATE TABLE tenant_task_count (
    tenant_id uuid NOT NULL,
    state task_state NOT NULL,
    tasks bigint NOT NULL,
    bytes_received bigint NOT NULL,
    bytes_sent bigint NOT NULL,
    CONSTRAINT tenant_task_count_pkey PRIMARY KEY (tenant_id, state)
) WITH (fillfactor=50, autovacuum_vacuum_threshold=200, autovacuum_vacuum_cost_delay=0);

CREATE TABLE test_failure (
    task_id uuid NOT NULL,
    code text NOT NULL,
    http_status smallint,
    CONSTRAINT test_failure_check CHECK (((code = 'http_status'::text) = (http_status IS NOT NULL))),
    CONSTRAINT test_failure_pkey PRIMARY KEY (task_id)
) WITH (autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_cost_delay=0);

CREATE TABLE timer (
    subject uuid NOT NULL,
    kind text NOT NULL,
    due_at timestamp with time zone NOT NULL,
    tenant_id uuid NOT NULL,
    shared_kind text NOT NULL DEFAULT kind,
    fence bigint,
    CONSTRAINT timer_kind_check CHECK ((kind = ANY (ARRAY['client'::text, 'request'::text, 'run'::text]))),
    CONSTRAINT timer_pkey PRIMARY KEY (subject)
) WITH (fillfactor=70, autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_cost_delay=0);

CREATE TABLE upload_resource (
    task_id uuid NOT NULL,
    fence bigint NOT NULL,
    dialect text NOT NULL,
    url bytea NOT NULL,
    is_at_origin boolean NOT NULL,
    body text NOT NULL,
    CONSTRAINT upload_resource_body_check CHECK ((octet_length(body) <= 256)),
    CONSTRAINT upload_resource_dialect_check CHECK ((dialect = ANY (ARRAY['ietf'::text, 'tus'::text, 'content_range'::text]))),
    CONSTRAINT upload_resource_pkey PRIMARY KEY (task_id),
    CONSTRAINT upload_resource_url_check CHECK (((octet_length(url) >= 1) AND (octet_length(url) <= 8704)))
) WITH (autovacuum_vacuum_scale_factor=0.05);

CREATE TABLE wake_up (
    subscription_id uuid NOT NULL,
    event_id uuid NOT NULL,
    count integer NOT NULL,
    sent_at timestamp with time zone NOT NULL,
    CONSTRAINT wake_up_count_check CHECK ((count > 0)),
    CONSTRAINT wake_up_pkey PRIMARY KEY (subscription_id)
) WITH (fillfactor=50);

CREATE TABLE worker (
    incarnation integer NOT NULL GENERATED ALWAYS AS IDENTITY,
    name text NOT NULL,
    started_at timestamp with time zone NOT NULL DEFAULT now(),
    heartbeat_at timestamp with time zone NOT NULL DEFAULT now(),
    leases_shards boolean NOT NULL DEFAULT false,
    alive_since timestamp with time zone NOT NULL DEFAULT now(),
    instance_lock text,
    schema_version integer NOT NULL DEFAULT 0,
    CONSTRAINT worker_pkey PRIMARY KEY (incarnation)
) WITH (fillfactor=30, autovacuum_vacuum_threshold=200, autovacuum_vacuum_cost_delay=0);

CREATE TABLE attempt_log_default PARTITION OF attempt_log DEFAULT;

CREATE TABLE event_feed_default PARTITION OF event_feed DEFAULT;

CREATE TABLE event_run_default PARTITION OF event_run DEFAULT WITH (toast_tuple_target=8160);

CREATE INDEX abandoned_part_by_source ON abandoned_part USING btree (source_task_id) WHERE (source_task_id IS NOT NULL);
CREATE INDEX abandoned_part_by_task ON abandoned_part USING btree (task_id);
CREATE INDEX answer_by_tenant ON answer USING btree (tenant_id, id);
CREATE INDEX api_key_by_tenant ON api_key USING btree (tenant_id, id);
CREATE INDEX asked_by_credential ON asked USING btree (tenant_id, credential, attempted_at) WHERE (credential IS NOT NULL);
CREATE INDEX asked_by_origin ON asked USING btree (session_id, origin, attempted_at) WHERE (origin IS NOT NULL);
CREATE INDEX asked_by_session ON asked USING btree (session_id, task_id);
CREATE INDEX asked_until ON asked USING btree (until);
CREATE INDEX assertion_ended ON assertion USING btree (ended_at) WHERE (ended_at IS NOT NULL);
CREATE INDEX assertion_held ON assertion USING btree (client_id, id) WHERE (ended_at IS NULL);
CREATE INDEX attempt_by_worker ON attempt USING btree (worker);
CREATE INDEX attempt_run_by_session ON attempt_run USING btree (session_id, block);
CREATE INDEX background_task_request_waiting ON background_task_request USING btree (tenant_id, waits_for) WHERE (waits_for <> ALL (ARRAY['date'::text, 'interval'::text, 'relaunch'::text]));
CREATE INDEX background_task_run_by_client ON background_task_run USING btree (client_id, launched_at, id);
CREATE INDEX background_task_run_by_identifier ON background_task_run USING btree (identifier, client_id, launched_at, id);
CREATE INDEX background_task_run_ended ON background_task_run USING btree (ended_at) WHERE (ended_at IS NOT NULL);
CREATE UNIQUE INDEX background_task_run_open ON background_task_run USING btree (client_id, identifier) WHERE (ended_at IS NULL);
CREATE INDEX background_task_run_to_cancel ON background_task_run USING btree (tenant_id, id) WHERE must_cancel;
CREATE INDEX bulk_operation_by_session ON bulk_operation USING btree (session_id, id);
CREATE INDEX bulk_operation_by_tenant ON bulk_operation USING btree (tenant_id);
CREATE INDEX bulk_operation_finished ON bulk_operation USING btree (finished_at) WHERE (finished_at IS NOT NULL);
CREATE INDEX bulk_operation_running ON bulk_operation USING btree (tenant_id, id) WHERE (finished_at IS NULL);
CREATE INDEX cancellation_by_tenant ON cancellation USING btree (tenant_id, session_id);
CREATE INDEX client_force_quit ON client USING btree (tenant_id) WHERE (lifecycle = 'force_quit'::text);
CREATE INDEX client_removed ON client USING btree (id) WHERE (removed_at IS NOT NULL);
CREATE INDEX client_resumption_by_tenant ON client_resumption USING btree (tenant_id, client_id);
CREATE UNIQUE INDEX credential_by_name ON credential USING btree (tenant_id, name COLLATE "C") WHERE (name IS NOT NULL);
CREATE INDEX delayed_awaiting_host ON delayed USING btree (host_key) WHERE awaits_host;
CREATE INDEX delayed_due ON delayed USING btree (due_at) WHERE (NOT asks_to_begin);
CREATE INDEX delayed_due_asking ON delayed USING btree (due_at) WHERE asks_to_begin;
CREATE INDEX delivery_by_worker ON delivery USING btree (worker) WHERE (worker IS NOT NULL);
CREATE INDEX delivery_due ON delivery USING btree (due_at) WHERE (due_at IS NOT NULL);
CREATE INDEX delivery_log_by_state ON delivery_log USING btree (state, subscription_id, id);
CREATE INDEX delivery_log_by_subscription ON delivery_log USING btree (subscription_id, id);
CREATE INDEX delivery_log_replay_due ON delivery_log USING btree (replay_due_at) WHERE (replay_due_at IS NOT NULL);
CREATE INDEX delivery_log_replay_of ON delivery_log USING btree (subscription_id, replay_due_at, session_id, sequence) WHERE (replay_due_at IS NOT NULL);
CREATE INDEX delivery_log_replaying ON delivery_log USING btree (subscription_id) WHERE (replay_fence IS NOT NULL);
CREATE INDEX delivery_restart_by_tenant ON delivery_restart USING btree (tenant_id, subscription_id);
CREATE INDEX expired_task_by_generation ON expired_task USING btree (session_id, generation);
CREATE INDEX expired_task_failed ON expired_task USING btree (session_id, generation, task_id) WHERE (failure_code IS NOT NULL);
CREATE INDEX host_bounded ON host USING btree (host_key) WHERE (connections_max IS NOT NULL);
CREATE INDEX host_closed ON host USING btree (shard) WHERE is_closed;
CREATE INDEX host_idle ON host USING btree (changed_at) WHERE (connections_max IS NULL);
CREATE INDEX host_slowed ON host USING btree (shard, changed_at DESC) WHERE ((connections IS NOT NULL) AND (connections_max IS NULL));
CREATE INDEX host_tenant_by_host ON host_tenant USING btree (host_key);
CREATE INDEX idempotency_key_age ON idempotency_key USING btree (created_at);
CREATE INDEX outcome_by_state ON outcome USING btree (session_id, state, task_id) WHERE (state <> 'completed'::task_state);
CREATE INDEX outcome_failed ON outcome USING btree (session_id, generation, task_id) WHERE ((state = 'failed'::task_state) IS TRUE);
CREATE INDEX partial_by_fence ON partial USING btree (part_fence);
CREATE INDEX partial_by_source ON partial USING btree (source_task_id) WHERE (source_task_id IS NOT NULL);
CREATE UNIQUE INDEX pause_by_scope ON pause USING btree (COALESCE((tenant_id)::text, ''::text), COALESCE((host_key)::text, ''::text), is_by_tenant);
CREATE INDEX rename_run_by_session ON rename_run USING btree (session_id, block);
CREATE INDEX result_hold_by_source ON result_hold USING btree (source_task_id);
CREATE INDEX resume_data_by_fence ON resume_data USING btree (part_fence);
CREATE INDEX resume_data_by_size ON resume_data USING btree (tenant_id, bytes_durable DESC);
CREATE INDEX resume_data_for_others ON resume_data USING btree (source_task_id) WHERE (id <> source_task_id);
CREATE INDEX revocation_by_task ON revocation USING btree (task_id);
CREATE INDEX revocation_by_worker ON revocation USING btree (worker);
CREATE INDEX session_by_client ON session USING btree (((client || ''::text)), tenant_id, id);
CREATE INDEX session_by_identifier ON session USING btree (tenant_id, client, identifier COLLATE "C", invalidated_at);
CREATE INDEX session_living ON session USING btree (tenant_id, id) WHERE (invalidated_at IS NULL);
CREATE UNIQUE INDEX session_living_identifier ON session USING btree (tenant_id, client, identifier COLLATE "C") WHERE (invalidated_at IS NULL);
CREATE UNIQUE INDEX signing_secret_newest ON signing_secret USING btree (subscription_id) WHERE (expires_at IS NULL);
CREATE INDEX staged_body_by_tenant ON staged_body USING btree (tenant_id) INCLUDE (bytes);
CREATE INDEX subscription_by_scope ON subscription USING btree (tenant_id, client, session_identifier COLLATE "C", id) WHERE is_living;
CREATE INDEX subscription_deleted ON subscription USING btree (deleted_at) WHERE (deleted_at IS NOT NULL);
CREATE INDEX subscription_deleted_of_tenant ON subscription USING btree (tenant_id, deleted_at) WHERE (deleted_at IS NOT NULL);
CREATE INDEX subscription_living ON subscription USING btree (tenant_id, id) WHERE (deleted_at IS NULL);
CREATE INDEX task_by_session ON task USING btree (session_id, id);
CREATE INDEX task_move_by_session ON task_move USING btree (tenant_id, session_id);
CREATE INDEX task_owner_by_client ON task_owner USING btree (client_id) WHERE (expires_at IS NOT NULL);
CREATE INDEX task_owner_by_lease ON task_owner USING btree (lease_token);
CREATE INDEX tenant_removed ON tenant USING btree (id) WHERE (removed_at IS NOT NULL);
CREATE INDEX tenant_with_egress_rules ON tenant USING btree (id) WHERE (egress_rules IS NOT NULL);
CREATE INDEX timer_by_tenant ON timer USING btree (shared_kind, tenant_id, due_at);
CREATE INDEX timer_due ON timer USING btree (kind, due_at);

CREATE VIEW event AS
 SELECT (OVERLAY(OVERLAY(encode(SUBSTRING(sha256(((uuid_send(r.session_id) || int8send(((r.first_sequence + k.place) - 1))) || timestamptz_send(r.occurred_at))) FROM 1 FOR 16), 'hex'::text) PLACING '8'::text FROM 13 FOR 1) PLACING '8'::text FROM 17 FOR 1))::uuid AS id,
    r.session_id,
    ((r.first_sequence + k.place) - 1) AS sequence,
    r.kind,
    r.generation,
    r.occurred_at,
    r.task_ids[k.place] AS task_id,
    r.task_state,
        CASE
            WHEN (r.task_ids IS NOT NULL) THEN COALESCE(r.attempts[k.place], (0)::smallint)
            ELSE NULL::smallint
        END AS attempt,
        CASE
            WHEN (r.task_ids IS NOT NULL) THEN COALESCE(r.bytes_received[k.place], (0)::bigint)
            ELSE NULL::bigint
        END AS bytes_received,
    r.failures[k.place] AS failure,
    r.summary,
    r.details
   FROM (event_run r
     CROSS JOIN LATERAL generate_series(1, (((r.last_sequence - r.first_sequence) + 1))::integer) k(place));

CREATE VIEW pending_rename AS
 SELECT r.first_fence,
    k.task_id,
    ((r.first_fence + k.place) - 1) AS fence,
    k.part_fence,
    ((r.first_fence >> 40))::integer AS worker,
    r.number,
    r.session_id,
    k.http_status,
    k.bytes_received,
    k.response_head,
    r.started_at,
    r.resumed_at_offset,
    k.inode,
    k.inode_born_at_ns
   FROM (rename_run r
     CROSS JOIN LATERAL UNNEST(r.task_ids, r.part_fences, r.http_statuses, r.bytes_received, r.response_heads, r.inodes, r.inodes_born_at_ns) WITH ORDINALITY k(task_id, part_fence, http_status, bytes_received, response_head, inode, inode_born_at_ns, place))
  WHERE (get_bit(r.gone, ((k.place)::integer - 1)) = 0);

CREATE VIEW running_attempt AS
 SELECT attempt.fence AS first_fence,
    attempt.task_id,
    attempt.fence,
    attempt.worker,
    attempt.number,
    attempt.session_id,
    attempt.host_key,
    attempt.started_at,
    attempt.began_at,
    attempt.bytes_received,
    attempt.bytes_expected,
    attempt.resumed_at_offset,
    attempt.bytes_sent,
    attempt.bytes_to_send,
    attempt.bytes_per_second
   FROM attempt
UNION ALL
 SELECT r.first_fence,
    k.task_id,
    ((r.first_fence + k.place) - 1) AS fence,
    ((r.first_fence >> 40))::integer AS worker,
    r.number,
    r.session_id,
    r.host_key,
    r.started_at,
    r.began_at,
    0 AS bytes_received,
    NULL::bigint AS bytes_expected,
    NULL::bigint AS resumed_at_offset,
    0 AS bytes_sent,
    NULL::bigint AS bytes_to_send,
    0 AS bytes_per_second
   FROM (attempt_run r
     CROSS JOIN LATERAL unnest(r.task_ids) WITH ORDINALITY k(task_id, place))
  WHERE (get_bit(r.gone, ((k.place)::integer - 1)) = 0);
