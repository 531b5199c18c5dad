-- functions: the operations of a shard. Each is one statement and one transaction for a batch.
--
-- Claims, acks and nacks do not wait for the disk: a crash of the server may undo those of its last
-- half second, and their jobs run again. New jobs are on disk before their producer gets a receipt.
-- The log is written in order, so a commit that does not wait never overtakes an earlier one.

CREATE OR REPLACE FUNCTION pinlater.now_ms() RETURNS bigint LANGUAGE sql VOLATILE AS $$
  SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint
$$;

CREATE OR REPLACE FUNCTION pinlater.lazily() RETURNS void LANGUAGE sql VOLATILE AS $$
  SELECT set_config('synchronous_commit', 'off', true)
$$;

-- A job is on disk before its producer gets a receipt, even if the server's default is `off`.
CREATE OR REPLACE FUNCTION pinlater.durably() RETURNS void LANGUAGE sql VOLATILE AS $$
  SELECT set_config('synchronous_commit', 'on', true)
  WHERE current_setting('synchronous_commit') = 'off'
$$;

CREATE OR REPLACE FUNCTION pinlater.queue_id(q_name text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE found_id int;
BEGIN
  SELECT id INTO found_id FROM pinlater.queue WHERE name = q_name;
  IF found_id IS NULL THEN
    INSERT INTO pinlater.queue (name) VALUES (q_name) ON CONFLICT DO NOTHING;
    SELECT id INTO found_id FROM pinlater.queue WHERE name = q_name;
  END IF;
  RETURN found_id;
END $$;

CREATE OR REPLACE FUNCTION pinlater.note_priorities(qid int, used smallint[]) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  IF NOT used <@ (SELECT priorities FROM pinlater.queue WHERE id = qid) THEN
    UPDATE pinlater.queue
    SET priorities = (SELECT array_agg(DISTINCT p ORDER BY p) FROM unnest(priorities || used) p)
    WHERE id = qid;
  END IF;
END $$;

-- Add to the counters of a queue.
CREATE OR REPLACE FUNCTION pinlater.tally(d pinlater.stat) RETURNS void LANGUAGE plpgsql AS $$
DECLARE my_slot int := pg_backend_pid() % 64;
BEGIN
  LOOP
    UPDATE pinlater.stat s SET
      pending = CASE WHEN d.pending IS NULL THEN s.pending ELSE ARRAY[
        s.pending[1] + coalesce(d.pending[1], 0), s.pending[2] + coalesce(d.pending[2], 0),
        s.pending[3] + coalesce(d.pending[3], 0), s.pending[4] + coalesce(d.pending[4], 0),
        s.pending[5] + coalesce(d.pending[5], 0), s.pending[6] + coalesce(d.pending[6], 0),
        s.pending[7] + coalesce(d.pending[7], 0), s.pending[8] + coalesce(d.pending[8], 0),
        s.pending[9] + coalesce(d.pending[9], 0), s.pending[10] + coalesce(d.pending[10], 0)] END,
      running = s.running + coalesce(d.running, 0),
      ok = s.ok + coalesce(d.ok, 0),
      bad = s.bad + coalesce(d.bad, 0),
      claimed = s.claimed + coalesce(d.claimed, 0),
      deleted = s.deleted + coalesce(d.deleted, 0),
      divided = s.divided + coalesce(d.divided, 0),
      enqueued = s.enqueued + coalesce(d.enqueued, 0),
      existing = s.existing + coalesce(d.existing, 0),
      expired = s.expired + coalesce(d.expired, 0),
      failed = s.failed + coalesce(d.failed, 0),
      limited = s.limited + coalesce(d.limited, 0),
      released = s.released + coalesce(d.released, 0),
      restarted = s.restarted + coalesce(d.restarted, 0),
      retried = s.retried + coalesce(d.retried, 0),
      stale = s.stale + coalesce(d.stale, 0),
      succeeded = s.succeeded + coalesce(d.succeeded, 0),
      swept = s.swept + coalesce(d.swept, 0),
      late_ms = s.late_ms + coalesce(d.late_ms, 0),
      later_than_1000_ms = s.later_than_1000_ms + coalesce(d.later_than_1000_ms, 0),
      later_than_10000_ms = s.later_than_10000_ms + coalesce(d.later_than_10000_ms, 0),
      later_than_60000_ms = s.later_than_60000_ms + coalesce(d.later_than_60000_ms, 0)
    WHERE s.queue = d.queue AND s.slot = my_slot;
    EXIT WHEN FOUND;
    INSERT INTO pinlater.stat (queue, slot) VALUES (d.queue, my_slot) ON CONFLICT DO NOTHING;
  END LOOP;
END $$;

-- Notify one worker that waits for jobs of the queue. Only workers that registered in the last
-- seconds count, because a killed worker stays in the table for a while.
CREATE OR REPLACE FUNCTION pinlater.wake(q_name text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE woken text;
BEGIN
  DELETE FROM pinlater.listener WHERE ctid = (
    SELECT ctid FROM pinlater.listener
    WHERE queue = q_name AND at > pinlater.now_ms() - 10000
    LIMIT 1 FOR UPDATE SKIP LOCKED)
  RETURNING channel INTO woken;
  IF woken IS NOT NULL THEN PERFORM pg_notify(woken, q_name); END IF;
END $$;

-- Runs in its own transaction, after that of the new jobs. A worker registers before it looks for
-- jobs, so either it sees the jobs or this sees the worker.
CREATE OR REPLACE FUNCTION pinlater.wake_one(q_name text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pinlater.lazily();
  PERFORM pinlater.wake(q_name);
END $$;

CREATE OR REPLACE FUNCTION pinlater.register(my_channel text, q_names text[]) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pinlater.lazily();
  INSERT INTO pinlater.listener (queue, channel, at)
  SELECT DISTINCT name, my_channel, pinlater.now_ms() FROM unnest(q_names) name ORDER BY name
  ON CONFLICT (queue, channel) DO UPDATE SET at = excluded.at;
END $$;

-- Return which of these queues have due jobs.
CREATE OR REPLACE FUNCTION pinlater.due_of(q_names text[]) RETURNS SETOF text LANGUAGE sql AS $$
  SELECT q.name FROM pinlater.queue q WHERE q.name = ANY(q_names) AND EXISTS (
    SELECT 1 FROM unnest(q.priorities) p, LATERAL (
      SELECT 1 FROM pinlater.ready r
      WHERE r.queue = q.id AND r.priority = p AND r.due <= pinlater.now_ms() LIMIT 1) x)
$$;

CREATE OR REPLACE FUNCTION pinlater.unregister(my_channel text) RETURNS void LANGUAGE sql AS $$
  DELETE FROM pinlater.listener WHERE channel = my_channel
$$;

-- Return the last token whose claims may have lost writes. After a restart, the server may have
-- lost the last numbers that it gave out, so the sequence skips ahead. A promoted replica may also
-- have lost writes of workers, so earlier claims become invalid.
CREATE OR REPLACE FUNCTION pinlater.refused_before() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE m pinlater.meta; line text; last bigint;
BEGIN
  SELECT * INTO m FROM pinlater.meta;
  IF m.started = pg_postmaster_start_time() THEN RETURN m.refused; END IF;
  SELECT * INTO m FROM pinlater.meta FOR UPDATE;
  IF m.started <> pg_postmaster_start_time() THEN
    line := left(pg_walfile_name(pg_current_wal_lsn()), 8);
    SELECT last_value INTO last FROM pinlater.number;
    PERFORM setval('pinlater.number', last + 1000000);
    UPDATE pinlater.meta SET started = pg_postmaster_start_time(), timeline = line,
      refused = CASE WHEN line <> m.timeline THEN last + 999999 ELSE m.refused END
    RETURNING * INTO m;
  END IF;
  RETURN m.refused;
END $$;

CREATE OR REPLACE FUNCTION pinlater.record(job pinlater.job) RETURNS bytea LANGUAGE plpgsql AS $$
DECLARE f pinlater.frame; parts bytea;
BEGIN
  IF get_byte(job.head, 0) <> 50 THEN RETURN job.head || job.body; END IF;
  SELECT * INTO f FROM pinlater.frame WHERE frame.job = job.id;
  SELECT string_agg('\x1e'::bytea || convert_to(i.due || E'\x1f', 'UTF8') || i.data, ''::bytea ORDER BY n)
    INTO parts FROM pinlater.item i WHERE i.job = job.id;
  RETURN job.head
    || convert_to(concat_ws(E'\x1e', f.items, f.width, f.span, f.most) || E'\x1e', 'UTF8')
    || f.grp || '\x1e'::bytea || f.prefix || '\x1e'::bytea || f.suffix || parts;
END $$;

-- Delete the collection data of jobs.
CREATE OR REPLACE FUNCTION pinlater.forget_items(ids bigint[]) RETURNS void LANGUAGE sql AS $$
  DELETE FROM pinlater.item WHERE job = ANY(ids);
  DELETE FROM pinlater.collecting c USING pinlater.frame f, pinlater.job j
  WHERE f.job = ANY(ids) AND j.id = f.job AND c.queue = j.queue AND c.priority = j.priority
    AND c.grp = f.grp AND c.width = f.width AND c.number = div(f.due::numeric, f.width)
    AND c.job = f.job;
  DELETE FROM pinlater.frame WHERE job = ANY(ids);
$$;

CREATE OR REPLACE FUNCTION pinlater.enqueue(
  q_name text, prio smallint[], delay bigint[], allow int[], heads bytea[], keys bytea[],
  tails bytea[], bodies bytea[]
) RETURNS TABLE (id bigint, existing boolean) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  qid int := pinlater.queue_id(q_name);
  now_ms bigint := pinlater.now_ms();
  numbers bigint[] := '{}';
  known boolean[] := '{}';
  repeated boolean[];
  i int;
  had bigint;
  d pinlater.stat;
BEGIN
  PERFORM pinlater.durably();
  d.queue := qid;
  IF cardinality(array_remove(keys, NULL)) > 0 THEN
    SELECT array_agg(k.id ORDER BY u.n), array_agg(u.n <> u.first ORDER BY u.n)
    INTO numbers, repeated
    FROM (SELECT key, n, min(n) OVER (PARTITION BY key) AS first
          FROM unnest(keys) WITH ORDINALITY AS x (key, n)) u
    LEFT JOIN pinlater.held_key k ON k.queue = qid AND k.key = u.key;
  END IF;
  -- Jobs that are due at the same time run in the order of their numbers, so number them in batch
  -- order.
  FOR i IN 1 .. cardinality(prio) LOOP
    known[i] := numbers[i] IS NOT NULL;
    CONTINUE WHEN known[i] OR (keys[i] IS NOT NULL AND repeated[i]);
    numbers[i] := nextval('pinlater.number');
  END LOOP;
  -- All producers insert keys in the same order. An insert waits for another transaction that
  -- inserts the same key, so different orders could deadlock.
  FOR i IN
    SELECT u.n FROM unnest(keys) WITH ORDINALITY AS u (key, n)
    WHERE u.key IS NOT NULL AND NOT known[u.n] ORDER BY u.key, u.n
  LOOP
    LOOP
      SELECT k.id INTO had FROM pinlater.held_key k WHERE k.queue = qid AND k.key = keys[i];
      IF FOUND THEN
        numbers[i] := had;
        known[i] := true;
        EXIT;
      END IF;
      INSERT INTO pinlater.held_key VALUES (qid, keys[i], numbers[i]) ON CONFLICT DO NOTHING;
      EXIT WHEN FOUND;
    END LOOP;
  END LOOP;

  WITH new AS MATERIALIZED (
    SELECT u.*, now_ms + u.wait AS due
    FROM unnest(numbers, known, prio, delay, allow, heads, keys, tails, bodies)
      AS u (id, known, priority, wait, allowed, head, key, tail, body)
    WHERE NOT u.known
  ), jobs AS (
    INSERT INTO pinlater.job (id, queue, priority, due, allowed, unique_key, head, body)
    SELECT id, qid, priority, due, allowed, key,
      head || convert_to(now_ms || '|' || due || '|', 'UTF8') || tail, body FROM new
  ), places AS (
    INSERT INTO pinlater.ready (queue, priority, due, id) SELECT qid, priority, due, id FROM new
  )
  SELECT count(*), ARRAY[
    count(*) FILTER (WHERE priority = 0), count(*) FILTER (WHERE priority = 1),
    count(*) FILTER (WHERE priority = 2), count(*) FILTER (WHERE priority = 3),
    count(*) FILTER (WHERE priority = 4), count(*) FILTER (WHERE priority = 5),
    count(*) FILTER (WHERE priority = 6), count(*) FILTER (WHERE priority = 7),
    count(*) FILTER (WHERE priority = 8), count(*) FILTER (WHERE priority = 9)]
  INTO d.enqueued, d.pending FROM new;

  d.existing := cardinality(prio) - d.enqueued;
  PERFORM pinlater.note_priorities(qid, prio);
  PERFORM pinlater.tally(d);
  RETURN QUERY SELECT * FROM unnest(numbers, known);
END $$;

CREATE OR REPLACE FUNCTION pinlater.claim(
  q_name text, most int, timeout_ms bigint, who bytea, share float8, lowest int, from_ms bigint
) RETURNS TABLE (id bigint, token bigint, attempt int, record bytea) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  now_ms bigint := pinlater.now_ms();
  q pinlater.queue;
  offered smallint[];
  rate float8; burst float8; left_tokens float8;
  ids bigint[]; tokens bigint[]; tries int[]; collected boolean;
  last_priority int; last_due bigint;
  next_due bigint; far_due bigint;
  more boolean;
  d pinlater.stat;
BEGIN
  PERFORM pinlater.lazily();
  PERFORM pinlater.refused_before();
  SELECT * INTO q FROM pinlater.queue WHERE name = q_name;
  IF NOT FOUND OR coalesce((q.settings ->> 'paused')::float8, 0) <> 0 THEN
    RETURN QUERY SELECT now_ms, -1::bigint, 0, NULL::bytea;
    RETURN;
  END IF;
  d.queue := q.id;
  IF q.settings ? 'rate' THEN
    -- Claims of a rate-limited queue run one at a time.
    SELECT * INTO q FROM pinlater.queue WHERE id = q.id FOR UPDATE;
    now_ms := pinlater.now_ms();
    rate := (q.settings ->> 'rate')::float8 * share;
    burst := greatest(1, coalesce((q.settings ->> 'burst')::float8 * share, rate / 4));
    left_tokens := least(burst, coalesce(q.tokens, burst)
                                + greatest(0, now_ms - q.filled_at) * rate / 1000);
    most := least(most, floor(left_tokens)::int);
  END IF;
  IF EXISTS (SELECT 1 FROM pinlater.wide WHERE queue = q.id AND due <= now_ms) THEN
    PERFORM pinlater.break_up(q.id, now_ms);
    SELECT * INTO q FROM pinlater.queue WHERE id = q.id;
  END IF;
  offered := ARRAY(SELECT p FROM unnest(q.priorities) p WHERE p <= lowest ORDER BY p);

  WITH gone AS (
    DELETE FROM pinlater.ready WHERE ctid = ANY (ARRAY(
      SELECT x.tid FROM unnest(offered) p CROSS JOIN LATERAL (
        SELECT r.ctid AS tid FROM pinlater.ready r
        WHERE r.queue = q.id AND r.priority = p AND r.due <= now_ms AND r.due >= from_ms
        ORDER BY r.due, r.id LIMIT most FOR UPDATE SKIP LOCKED) x
      LIMIT most))
    RETURNING priority, due, id, attempts, problem
  ), named AS MATERIALIZED (
    SELECT s.*, nextval('pinlater.number') AS token
    FROM (SELECT * FROM gone ORDER BY priority, due, id) s
  ), put AS (
    INSERT INTO pinlater.running
    SELECT id, q.id, priority, now_ms + timeout_ms, token, attempts + 1, now_ms, who,
      coalesce(problem, '') FROM named
  )
  SELECT count(*), array_agg(id ORDER BY token), array_agg(token ORDER BY token),
    array_agg(attempts + 1 ORDER BY token), sum(greatest(0, now_ms - due)),
    count(*) FILTER (WHERE now_ms - due > 1000), count(*) FILTER (WHERE now_ms - due > 10000),
    count(*) FILTER (WHERE now_ms - due > 60000), max(priority),
    max(due) FILTER (WHERE priority = (SELECT max(priority) FROM named)), ARRAY[
    -count(*) FILTER (WHERE priority = 0), -count(*) FILTER (WHERE priority = 1),
    -count(*) FILTER (WHERE priority = 2), -count(*) FILTER (WHERE priority = 3),
    -count(*) FILTER (WHERE priority = 4), -count(*) FILTER (WHERE priority = 5),
    -count(*) FILTER (WHERE priority = 6), -count(*) FILTER (WHERE priority = 7),
    -count(*) FILTER (WHERE priority = 8), -count(*) FILTER (WHERE priority = 9)]
  INTO d.claimed, ids, tokens, tries, d.late_ms, d.later_than_1000_ms, d.later_than_10000_ms,
    d.later_than_60000_ms, last_priority, last_due, d.pending FROM named;

  IF d.claimed > 0 THEN
    d.running := d.claimed;
    RETURN QUERY SELECT u.id, u.token, u.attempt, CASE
        WHEN get_byte(j.head, 0) = 50 THEN pinlater.record(j) ELSE j.head || j.body END
      FROM unnest(ids, tokens, tries) WITH ORDINALITY AS u (id, token, attempt, n)
      JOIN pinlater.job j ON j.id = u.id ORDER BY u.n;
    UPDATE pinlater.frame SET closed = true WHERE job = ANY (ids) AND NOT closed;
  END IF;

  -- Fewer rows than requested: other transactions are claiming the other due jobs, and those before
  -- the last of these. Reading from the start again would pass all dead rows again.
  SELECT min(x.due) INTO next_due FROM unnest(offered) p CROSS JOIN LATERAL (
    SELECT r.due FROM pinlater.ready r
    WHERE r.queue = q.id AND r.priority = p
      AND r.due >= CASE WHEN d.claimed < most OR p < last_priority THEN now_ms + 1
                        WHEN p = last_priority THEN last_due ELSE from_ms END
    ORDER BY r.due LIMIT 1) x;
  SELECT min(due) INTO far_due FROM (
    SELECT due FROM pinlater.wide WHERE queue = q.id AND priority <= lowest
    ORDER BY due LIMIT 1) w;
  next_due := coalesce(least(next_due, far_due), -1);
  more := next_due >= 0 AND next_due <= now_ms;
  IF rate IS NOT NULL THEN
    left_tokens := left_tokens - d.claimed;
    UPDATE pinlater.queue SET tokens = left_tokens, filled_at = now_ms WHERE id = q.id;
    IF more AND left_tokens < 1 THEN
      d.limited := 1;
      more := false;
      next_due := now_ms + ceil((1 - left_tokens) * 1000 / rate)::bigint;
    END IF;
  END IF;
  IF more THEN PERFORM pinlater.wake(q_name); END IF;
  IF d.claimed > 0 OR d.limited > 0 THEN PERFORM pinlater.tally(d); END IF;
  RETURN QUERY SELECT now_ms, next_due, more::int, NULL::bytea;
END $$;

-- Move a job that was RUNNING to FAILED.
CREATE OR REPLACE FUNCTION pinlater.give_up(
  r pinlater.running, j pinlater.job, problem bytea, now_ms bigint
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO pinlater.ended VALUES (j.queue, 3, now_ms, j.id, j.head || convert_to(
    r.attempts || '|' || r.since || '|' || now_ms || '|', 'UTF8') || r.worker || '|'::bytea || problem);
  IF j.unique_key IS NOT NULL THEN
    DELETE FROM pinlater.held_key k WHERE k.queue = j.queue AND k.key = j.unique_key AND k.id = j.id;
  END IF;
END $$;

-- A setting of the retry policy: that of the job's type, `max_attempts@thumbnail`, or the queue's.
CREATE OR REPLACE FUNCTION pinlater.policy(s jsonb, setting text, kind text, usual float8)
RETURNS float8 LANGUAGE sql IMMUTABLE AS $$
  SELECT coalesce((s ->> (setting || '@' || kind))::float8, (s ->> setting)::float8, usual)
$$;

-- End a claim: the job is PENDING again after the delay, or FAILED if no attempt is left or it would be
-- too old by then. If this attempt does not count, `used` is less than the claim's attempts, and the
-- age limit does not apply. Returns the new state; the caller updates the counters.
CREATE OR REPLACE FUNCTION pinlater.again(
  r pinlater.running, wait_ms bigint, used int, problem bytea, now_ms bigint
) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  j pinlater.job; s jsonb; allow int; most_ms float8 := 0;
  head text[];  -- version, priority, attempts, created, due, unique key, name, key
BEGIN
  DELETE FROM pinlater.running WHERE id = r.id;
  SELECT * INTO j FROM pinlater.job WHERE id = r.id;
  IF NOT FOUND THEN RETURN 'GONE'; END IF;
  SELECT settings INTO s FROM pinlater.queue WHERE id = r.queue;
  head := string_to_array(encode(j.head, 'escape'), '|');
  allow := j.allowed;
  IF allow = 0 THEN allow := pinlater.policy(s, 'max_attempts', head[7], 10)::int; END IF;
  IF used >= r.attempts THEN most_ms := pinlater.policy(s, 'max_age_ms', head[7], 0); END IF;
  IF used >= allow OR (most_ms > 0 AND now_ms + wait_ms - head[4]::bigint > most_ms) THEN
    PERFORM pinlater.give_up(r, j, problem, now_ms);
    RETURN 'FAILED';
  END IF;
  INSERT INTO pinlater.ready VALUES (r.queue, r.priority, now_ms + wait_ms, r.id, used, problem);
  IF wait_ms <= 1000 THEN
    PERFORM pinlater.wake((SELECT name FROM pinlater.queue WHERE id = r.queue));
  END IF;
  RETURN 'PENDING';
END $$;

-- Move a RUNNING job to its new state in the counters.
CREATE OR REPLACE FUNCTION pinlater.count_end(d pinlater.stat, state text, priority int)
RETURNS pinlater.stat LANGUAGE plpgsql AS $$
BEGIN
  d.running := coalesce(d.running, 0) - 1;
  IF state = 'PENDING' THEN
    d.pending[priority + 1] := coalesce(d.pending[priority + 1], 0) + 1;
  ELSIF state = 'FAILED' THEN
    d.failed := coalesce(d.failed, 0) + 1;
    d.bad := coalesce(d.bad, 0) + 1;
  END IF;
  RETURN d;
END $$;

-- Delete the oldest finished jobs of a state: those that are too old or too many.
CREATE OR REPLACE FUNCTION pinlater.forget(qid int, which int, now_ms bigint, most int)
RETURNS int LANGUAGE plpgsql AS $$
DECLARE
  s jsonb; kept bigint; over bigint; before bigint; ids bigint[] := '{}'; more_ids bigint[];
BEGIN
  SELECT settings INTO s FROM pinlater.queue WHERE id = qid;
  IF which = 2 THEN
    before := now_ms - coalesce((s ->> 'keep_succeeded_ms')::float8, 86400000)::bigint;
    over := coalesce((s ->> 'keep_succeeded_max')::float8, 100000)::bigint;
    SELECT sum(ok) - over INTO over FROM pinlater.stat WHERE queue = qid;
  ELSE
    before := now_ms - coalesce((s ->> 'keep_failed_ms')::float8, 604800000)::bigint;
    over := coalesce((s ->> 'keep_failed_max')::float8, 1000000)::bigint;
    SELECT sum(bad) - over INTO over FROM pinlater.stat WHERE queue = qid;
  END IF;
  over := least(greatest(over, 0), most);
  IF over > 0 THEN
    WITH gone AS (DELETE FROM pinlater.ended WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM pinlater.ended WHERE queue = qid AND state = which
      ORDER BY at, id LIMIT over FOR UPDATE SKIP LOCKED)) RETURNING id)
    SELECT coalesce(array_agg(id), '{}') INTO ids FROM gone;
  END IF;
  WITH gone AS (DELETE FROM pinlater.ended WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM pinlater.ended WHERE queue = qid AND state = which AND at < before
    ORDER BY at, id LIMIT most - over FOR UPDATE SKIP LOCKED)) RETURNING id)
  SELECT coalesce(array_agg(id), '{}') INTO more_ids FROM gone;
  ids := ids || more_ids;
  IF which = 3 AND cardinality(ids) > 0 THEN
    PERFORM pinlater.forget_items(ids);
    DELETE FROM pinlater.job WHERE id = ANY (ids);
  END IF;
  RETURN cardinality(ids);
END $$;

-- Return which claims, counted from 1, were valid: their jobs have SUCCEEDED.
CREATE OR REPLACE FUNCTION pinlater.ack(q_name text, of_ids bigint[], of_tokens bigint[])
RETURNS SETOF int LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  qid int; now_ms bigint := pinlater.now_ms(); before bigint;
  done int[]; freed bytea[]; owners bigint[]; collected bigint[];
  r pinlater.running; state text; d pinlater.stat;
BEGIN
  PERFORM pinlater.lazily();
  before := pinlater.refused_before();
  qid := pinlater.queue_id(q_name);
  d.queue := qid;
  WITH asked AS MATERIALIZED (
    SELECT u.id, u.token, min(u.n)::int AS n
    FROM unnest(of_ids, of_tokens) WITH ORDINALITY AS u (id, token, n)
    WHERE u.token > before GROUP BY 1, 2
  ), mine AS (
    DELETE FROM pinlater.running r USING asked a
    WHERE r.id = a.id AND r.token = a.token AND r.queue = qid
    RETURNING a.n, r.id, r.attempts, r.since, r.worker
  ), gone AS (
    DELETE FROM pinlater.job j USING mine m WHERE j.id = m.id
    RETURNING m.n, j.id, j.head, j.unique_key, m.attempts, m.since, m.worker
  ), kept AS (
    INSERT INTO pinlater.ended SELECT qid, 2, now_ms, id, head || convert_to(
      attempts || '|' || since || '|' || now_ms || '|', 'UTF8') || worker || '|'::bytea FROM gone
  )
  SELECT coalesce(array_agg(n), '{}'), array_agg(unique_key) FILTER (WHERE unique_key IS NOT NULL),
    array_agg(id) FILTER (WHERE unique_key IS NOT NULL),
    array_agg(id) FILTER (WHERE get_byte(head, 0) = 50)
  INTO done, freed, owners, collected FROM gone;
  IF freed IS NOT NULL THEN
    DELETE FROM pinlater.held_key k USING unnest(freed, owners) u (key, id)
    WHERE k.queue = qid AND k.key = u.key AND k.id = u.id;
  END IF;
  IF collected IS NOT NULL THEN PERFORM pinlater.forget_items(collected); END IF;

  d.succeeded := cardinality(done);
  IF before > 0 THEN
    FOR r IN SELECT x.* FROM unnest(of_ids, of_tokens) u (id, token)
      JOIN pinlater.running x ON x.id = u.id AND x.token = u.token
      WHERE u.token <= before AND x.queue = qid FOR UPDATE OF x
    LOOP
      state := pinlater.again(r, 0, r.attempts - 1, 'its server restarted while it ran', now_ms);
    d := pinlater.count_end(d, state, r.priority);
      d.restarted := coalesce(d.restarted, 0) + 1;
    END LOOP;
  END IF;
  d.running := coalesce(d.running, 0) - d.succeeded;
  d.ok := d.succeeded;
  d.stale := cardinality(of_ids) - d.succeeded - coalesce(d.restarted, 0);
  PERFORM pinlater.tally(d);
  -- Delete at most twice as many jobs as were acknowledged, so that a burst of acks stays short.
  d := NULL;
  d.queue := qid;
  d.swept := pinlater.forget(qid, 2, now_ms, 2 * cardinality(done) + 1);
  IF d.swept > 0 THEN
    d.ok := -d.swept;
    PERFORM pinlater.tally(d);
  END IF;
  RETURN QUERY SELECT unnest(done);
END $$;

-- Return the new state of each job, NULL where the claim was not valid.
CREATE OR REPLACE FUNCTION pinlater.nack(
  q_name text, of_ids bigint[], of_tokens bigint[], steps text[], delays bigint[], problems bytea[]
) RETURNS SETOF text LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  qid int; now_ms bigint := pinlater.now_ms(); r pinlater.running; state text; d pinlater.stat;
  used int;
BEGIN
  PERFORM pinlater.lazily();
  PERFORM pinlater.refused_before();
  qid := pinlater.queue_id(q_name);
  d.queue := qid;
  FOR i IN 1 .. cardinality(of_ids) LOOP
    SELECT * INTO r FROM pinlater.running
      WHERE id = of_ids[i] AND token = of_tokens[i] AND queue = qid FOR UPDATE;
    IF NOT FOUND THEN
      d.stale := coalesce(d.stale, 0) + 1;
      RETURN NEXT NULL::text;
      CONTINUE;
    END IF;
    used := CASE steps[i] WHEN 'release' THEN r.attempts - 1 WHEN 'fail' THEN 2147483647
            ELSE r.attempts END;
    state := pinlater.again(r, delays[i], used, problems[i], now_ms);
    d := pinlater.count_end(d, state, r.priority);
    IF steps[i] = 'release' THEN d.released := coalesce(d.released, 0) + 1;
    ELSIF state = 'PENDING' THEN d.retried := coalesce(d.retried, 0) + 1; END IF;
    RETURN NEXT state;
  END LOOP;
  PERFORM pinlater.tally(d);
END $$;

CREATE OR REPLACE FUNCTION pinlater.extend(
  q_name text, of_ids bigint[], of_tokens bigint[], timeout_ms bigint
) RETURNS SETOF int LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  PERFORM pinlater.lazily();
  RETURN QUERY WITH longer AS (
    UPDATE pinlater.running r SET until = pinlater.now_ms() + timeout_ms
    FROM (SELECT DISTINCT u.id, u.token FROM unnest(of_ids, of_tokens) u (id, token)
          ORDER BY 1) a
    WHERE r.id = a.id AND r.token = a.token RETURNING r.id, r.token)
  SELECT u.n::int FROM unnest(of_ids, of_tokens) WITH ORDINALITY u (id, token, n)
    JOIN longer l ON l.id = u.id AND l.token = u.token;
END $$;

CREATE OR REPLACE FUNCTION pinlater.sweep(q_name text, reap_before bigint, most int)
RETURNS bigint[] LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  qid int; now_ms bigint := pinlater.now_ms(); r pinlater.running; state text; d pinlater.stat;
  given_back bigint := 0; given_up bigint := 0; ok bigint; bad bigint;
BEGIN
  PERFORM pinlater.lazily();
  PERFORM pinlater.refused_before();
  SELECT id INTO qid FROM pinlater.queue WHERE name = q_name;
  IF qid IS NULL THEN RETURN ARRAY[now_ms, 0, 0, 0]; END IF;
  d.queue := qid;
  FOR r IN SELECT * FROM pinlater.running
    WHERE queue = qid AND until <= least(now_ms, reap_before)
    ORDER BY until, id LIMIT most FOR UPDATE SKIP LOCKED
  LOOP
    state := pinlater.again(r, 0, r.attempts, 'claim timed out: '::bytea || r.worker, now_ms);
    d := pinlater.count_end(d, state, r.priority);
    given_back := given_back + (state = 'PENDING')::int;
    given_up := given_up + (state = 'FAILED')::int;
    d.expired := coalesce(d.expired, 0) + (state <> 'GONE')::int;
  END LOOP;
  IF d.running <> 0 THEN PERFORM pinlater.tally(d); END IF;
  ok := pinlater.forget(qid, 2, now_ms, most);
  bad := pinlater.forget(qid, 3, now_ms, most);
  IF ok + bad > 0 THEN
    d := NULL;
    d.queue := qid;
    d.ok := -ok;
    d.bad := -bad;
    d.swept := ok + bad;
    PERFORM pinlater.tally(d);
  END IF;
  DELETE FROM pinlater.listener WHERE at < now_ms - 60000;
  RETURN ARRAY[now_ms, given_back, given_up, ok + bad];
END $$;

CREATE OR REPLACE FUNCTION pinlater.release(q_name text, who bytea, of_ids bigint[])
RETURNS int LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  qid int; now_ms bigint := pinlater.now_ms(); r pinlater.running; state text; d pinlater.stat;
BEGIN
  PERFORM pinlater.lazily();
  SELECT id INTO qid FROM pinlater.queue WHERE name = q_name;
  IF qid IS NULL THEN RETURN 0; END IF;
  d.queue := qid;
  FOR r IN SELECT * FROM pinlater.running WHERE id = ANY (of_ids) AND queue = qid
    AND substring(worker FROM 1 FOR length(who)) = who ORDER BY id FOR UPDATE
  LOOP
    state := pinlater.again(r, 0, r.attempts, 'its worker died: '::bytea || r.worker, now_ms);
    d := pinlater.count_end(d, state, r.priority);
    d.expired := coalesce(d.expired, 0) + (state <> 'GONE')::int;
  END LOOP;
  IF d.running <> 0 THEN PERFORM pinlater.tally(d); END IF;
  RETURN coalesce(d.expired, 0);
END $$;

CREATE OR REPLACE FUNCTION pinlater.retry(q_name text, of_ids bigint[], most int)
RETURNS int LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  qid int; now_ms bigint := pinlater.now_ms(); e pinlater.ended; j pinlater.job; d pinlater.stat;
  done int := 0;
BEGIN
  SELECT id INTO qid FROM pinlater.queue WHERE name = q_name;
  IF qid IS NULL THEN RETURN 0; END IF;
  d.queue := qid;
  -- Take locks in the order of the unique keys, as `enqueue` does.
  FOR e IN SELECT s.* FROM (
      SELECT * FROM pinlater.ended WHERE queue = qid AND state = 3
      AND (cardinality(of_ids) = 0 OR id = ANY (of_ids))
      ORDER BY at, id LIMIT CASE WHEN cardinality(of_ids) = 0 THEN most END FOR UPDATE SKIP LOCKED
    ) s JOIN pinlater.job k ON k.id = s.id ORDER BY k.unique_key, s.at, s.id
  LOOP
    SELECT * INTO j FROM pinlater.job WHERE id = e.id;
    IF j.unique_key IS NOT NULL THEN
      -- A newer job that has the unique key keeps it.
      INSERT INTO pinlater.held_key VALUES (qid, j.unique_key, j.id) ON CONFLICT DO NOTHING;
      CONTINUE WHEN NOT FOUND;
    END IF;
    DELETE FROM pinlater.ended WHERE queue = qid AND state = 3 AND at = e.at AND id = e.id;
    INSERT INTO pinlater.ready VALUES (qid, j.priority, now_ms, j.id, 0, '');
    d.pending[j.priority + 1] := coalesce(d.pending[j.priority + 1], 0) + 1;
    done := done + 1;
  END LOOP;
  d.bad := -done;
  PERFORM pinlater.tally(d);
  IF done > 0 THEN PERFORM pinlater.wake(q_name); END IF;
  RETURN done;
END $$;

-- Return the row of a PENDING job in `ready`; NULL for a wide job.
CREATE OR REPLACE FUNCTION pinlater.place(j pinlater.job) RETURNS tid LANGUAGE sql AS $$
  SELECT coalesce(
    (SELECT ctid FROM pinlater.ready r WHERE r.queue = j.queue AND r.priority = j.priority
      AND r.due = coalesce((SELECT due FROM pinlater.frame WHERE job = j.id), j.due)
      AND r.id = j.id),
    (SELECT ctid FROM pinlater.ready r WHERE r.id = j.id AND r.problem IS NOT NULL))
$$;

CREATE OR REPLACE FUNCTION pinlater.delete(
  q_name text, which text, of_ids bigint[], most int
) RETURNS int LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  qid int; ids bigint[] := '{}'; wide_ids bigint[]; d pinlater.stat; by_name boolean;
BEGIN
  SELECT id INTO qid FROM pinlater.queue WHERE name = q_name;
  IF qid IS NULL OR which = 'RUNNING' THEN RETURN 0; END IF;
  d.queue := qid;
  by_name := cardinality(of_ids) > 0;
  IF which = 'PENDING' THEN
    WITH gone AS (DELETE FROM pinlater.ready WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM pinlater.ready r WHERE NOT by_name AND queue = qid
      ORDER BY queue, priority, due, id LIMIT CASE WHEN by_name THEN 0 ELSE most END
      FOR UPDATE SKIP LOCKED) || ARRAY(
      SELECT pinlater.place(j) FROM pinlater.job j WHERE by_name AND id = ANY (of_ids)
        AND queue = qid)) RETURNING id)
    SELECT coalesce(array_agg(id), '{}') INTO ids FROM gone;
    WITH gone AS (DELETE FROM pinlater.wide WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM pinlater.wide WHERE queue = qid AND (NOT by_name OR id = ANY (of_ids))
      ORDER BY due, id LIMIT CASE WHEN by_name THEN NULL ELSE most - cardinality(ids) END
      FOR UPDATE SKIP LOCKED)) RETURNING id)
    SELECT ids || coalesce(array_agg(id), '{}') INTO ids FROM gone;
  ELSE
    WITH gone AS (DELETE FROM pinlater.ended WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM pinlater.ended WHERE queue = qid
        AND state = CASE which WHEN 'SUCCEEDED' THEN 2 ELSE 3 END
        AND (NOT by_name OR id = ANY (of_ids))
      ORDER BY at, id LIMIT CASE WHEN by_name THEN NULL ELSE most END FOR UPDATE SKIP LOCKED))
      RETURNING id)
    SELECT coalesce(array_agg(id), '{}') INTO ids FROM gone;
    IF which = 'SUCCEEDED' THEN d.ok := -cardinality(ids); ELSE d.bad := -cardinality(ids); END IF;
  END IF;
  PERFORM pinlater.forget_items(ids);
  WITH gone AS (DELETE FROM pinlater.job WHERE id = ANY (ids) RETURNING id, priority, unique_key),
  freed AS (DELETE FROM pinlater.held_key k USING gone g
    WHERE k.queue = qid AND k.key = g.unique_key AND k.id = g.id)
  SELECT array_agg(-n ORDER BY p) INTO d.pending FROM (
    SELECT p, count(g.id) n FROM generate_series(0, 9) p LEFT JOIN gone g ON g.priority = p
    GROUP BY p) x;
  IF which <> 'PENDING' THEN d.pending := NULL; END IF;
  d.deleted := cardinality(ids);
  PERFORM pinlater.tally(d);
  RETURN d.deleted;
END $$;

CREATE OR REPLACE FUNCTION pinlater.configure(q_name text, changes jsonb) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE qid int := pinlater.queue_id(q_name);
BEGIN
  UPDATE pinlater.queue SET settings = jsonb_strip_nulls(settings || changes) WHERE id = qid;
  IF changes ?| '{rate,burst}' THEN
    UPDATE pinlater.queue SET tokens = NULL, filled_at = 0 WHERE id = qid;
  END IF;
  PERFORM pinlater.wake(q_name);
END $$;

-- Delete up to this many jobs of a queue, then the queue; returns whether the queue is deleted.
CREATE OR REPLACE FUNCTION pinlater.drop(q_name text, most int) RETURNS boolean
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE qid int; ids bigint[];
BEGIN
  SELECT id INTO qid FROM pinlater.queue WHERE name = q_name;
  IF qid IS NULL THEN RETURN true; END IF;
  ids := ARRAY(
    (SELECT id FROM pinlater.ready WHERE queue = qid ORDER BY queue, priority, due LIMIT most)
    UNION ALL (SELECT id FROM pinlater.running WHERE queue = qid LIMIT most)
    UNION ALL (SELECT id FROM pinlater.ended WHERE queue = qid LIMIT most)
    UNION ALL (SELECT id FROM pinlater.wide WHERE queue = qid LIMIT most));
  DELETE FROM pinlater.ready WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM pinlater.ready WHERE queue = qid AND id = ANY (ids)
    ORDER BY queue, priority, due LIMIT most));
  DELETE FROM pinlater.running WHERE id = ANY (ids);
  DELETE FROM pinlater.ended WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM pinlater.ended WHERE queue = qid LIMIT most));
  DELETE FROM pinlater.wide WHERE queue = qid AND id = ANY (ids);
  PERFORM pinlater.forget_items(ids);
  DELETE FROM pinlater.job WHERE id = ANY (ids);
  IF cardinality(ids) > 0 THEN RETURN false; END IF;
  DELETE FROM pinlater.held_key WHERE queue = qid;
  DELETE FROM pinlater.collecting WHERE queue = qid;
  DELETE FROM pinlater.stat WHERE queue = qid;
  DELETE FROM pinlater.queue WHERE id = qid;
  RETURN true;
END $$;
