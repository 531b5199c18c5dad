-- queries: read-only functions for people and tools.

-- Return the time; of PENDING jobs, how many are due and how many there are by priority; the number
-- of RUNNING, SUCCEEDED and FAILED jobs; and when the oldest due job became due. The numbers come
-- from counters, except that of due jobs: up to 100,000 due jobs are counted, and beyond that the
-- jobs that are not due, up to 100,000 too.
CREATE OR REPLACE FUNCTION pinlater.sizes(q_name text) RETURNS bigint[] LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  q pinlater.queue; now_ms bigint := pinlater.now_ms(); s record; every bigint; due_jobs bigint;
  oldest bigint; most CONSTANT int := 100000;
BEGIN
  SELECT * INTO q FROM pinlater.queue WHERE name = q_name;
  IF NOT FOUND THEN RETURN ARRAY[now_ms, 0, 0,0,0,0,0,0,0,0,0,0, 0, 0, 0, now_ms]; END IF;
  SELECT coalesce(sum(running), 0)::bigint AS running, coalesce(sum(ok), 0)::bigint AS ok,
    coalesce(sum(bad), 0)::bigint AS bad, ARRAY(
      SELECT coalesce(sum(t.pending[p]), 0)::bigint FROM generate_series(1, 10) p
      LEFT JOIN pinlater.stat t ON t.queue = q.id GROUP BY p ORDER BY p) AS pending
  INTO s FROM pinlater.stat WHERE queue = q.id;
  SELECT sum(u) INTO every FROM unnest(s.pending) u;
  SELECT count(*), min(x.due) INTO due_jobs, oldest FROM unnest(q.priorities) p
  CROSS JOIN LATERAL (SELECT r.due FROM pinlater.ready r
    WHERE r.queue = q.id AND r.priority = p AND r.due <= now_ms
    ORDER BY r.due LIMIT most) x;
  IF due_jobs >= most THEN
    SELECT greatest(every - count(*), due_jobs) INTO due_jobs FROM unnest(q.priorities) p
    CROSS JOIN LATERAL (SELECT 1 FROM pinlater.ready r
      WHERE r.queue = q.id AND r.priority = p AND r.due > now_ms
      ORDER BY r.due LIMIT most) x;
  END IF;
  RETURN ARRAY[now_ms, least(due_jobs, every)] || s.pending
    || ARRAY[s.running, s.ok, s.bad, coalesce(oldest, now_ms)];
END $$;

CREATE OR REPLACE FUNCTION pinlater.stats(q_name text) RETURNS text LANGUAGE sql AS $$
  SELECT coalesce(jsonb_object_agg(name, total), '{}')::text FROM (
    SELECT e.key AS name, sum(e.value::text::bigint) AS total
    FROM pinlater.queue q JOIN pinlater.stat s ON s.queue = q.id,
      jsonb_each(to_jsonb(s) - '{queue,slot,pending,running,ok,bad}'::text[]) e
    WHERE q.name = q_name GROUP BY 1 HAVING sum(e.value::text::bigint) <> 0) x
$$;

-- Return jobs in a state: id, time, record (or the entry of an ended job), its claim as one line,
-- and the record of a FAILED job.
CREATE OR REPLACE FUNCTION pinlater.jobs(q_name text, which text, most int, skip int)
RETURNS TABLE (id bigint, at bigint, record bytea, line bytea) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE qid int;
BEGIN
  SELECT q.id INTO qid FROM pinlater.queue q WHERE name = q_name;
  IF which = 'PENDING' THEN
    RETURN QUERY SELECT x.id, x.due, pinlater.record(j), convert_to(
        '0|' || x.attempts || '|0||', 'UTF8') || coalesce(x.problem, '')
      FROM (
        (SELECT priority, due, id, attempts, problem FROM pinlater.ready WHERE queue = qid
         ORDER BY priority, due, id LIMIT most + skip)
        UNION ALL (SELECT priority, due, id, 0, NULL FROM pinlater.wide WHERE queue = qid
         ORDER BY priority, due, id LIMIT most + skip)
        ORDER BY 1, 2, 3 LIMIT most OFFSET skip) x
      JOIN pinlater.job j ON j.id = x.id ORDER BY x.priority, x.due, x.id;
  ELSIF which = 'RUNNING' THEN
    RETURN QUERY SELECT r.id, r.until, pinlater.record(j), pinlater.line_of(r)
      FROM pinlater.running r JOIN pinlater.job j ON j.id = r.id
      WHERE r.queue = qid ORDER BY r.until, r.id LIMIT most OFFSET skip;
  ELSE
    RETURN QUERY SELECT x.id, x.at, x.entry, pinlater.record(j) FROM (
        SELECT * FROM pinlater.ended WHERE queue = qid
          AND state = CASE which WHEN 'SUCCEEDED' THEN 2 ELSE 3 END
        ORDER BY at DESC, id DESC LIMIT most OFFSET skip) x
      LEFT JOIN pinlater.job j ON j.id = x.id ORDER BY x.at DESC, x.id DESC;
  END IF;
END $$;

CREATE OR REPLACE FUNCTION pinlater.line_of(r pinlater.running) RETURNS bytea LANGUAGE sql AS $$
  SELECT convert_to(r.token || '|' || r.attempts || '|' || r.since || '|', 'UTF8') || r.worker
    || '|'::bytea || r.problem
$$;

CREATE OR REPLACE FUNCTION pinlater.named(q_name text, which text, of_ids bigint[])
RETURNS TABLE (id bigint, at bigint, record bytea, line bytea) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE qid int;
BEGIN
  SELECT q.id INTO qid FROM pinlater.queue q WHERE name = q_name;
  IF which IN ('PENDING', 'RUNNING') THEN
    RETURN QUERY SELECT j.id, 0::bigint, pinlater.record(j), coalesce(
        pinlater.line_of(r), (SELECT convert_to('0|' || w.attempts || '|0||', 'UTF8')
          || w.problem FROM pinlater.ready w WHERE w.id = j.id AND w.problem IS NOT NULL),
        '0|0|0||'::bytea)
      FROM pinlater.job j LEFT JOIN pinlater.running r ON r.id = j.id
      WHERE j.id = ANY (of_ids) AND j.queue = qid ORDER BY array_position(of_ids, j.id);
  ELSE
    RETURN QUERY SELECT e.id, 0::bigint, e.entry, pinlater.record(j)
      FROM pinlater.ended e LEFT JOIN pinlater.job j ON j.id = e.id
      WHERE e.queue = qid AND e.state = CASE which WHEN 'SUCCEEDED' THEN 2 ELSE 3 END
        AND e.id = ANY (of_ids) ORDER BY array_position(of_ids, e.id);
  END IF;
END $$;

CREATE OR REPLACE FUNCTION pinlater.later(q_name text, most int)
RETURNS TABLE (id bigint, at bigint, record bytea, line bytea) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE q pinlater.queue; now_ms bigint := pinlater.now_ms();
BEGIN
  SELECT * INTO q FROM pinlater.queue WHERE name = q_name;
  RETURN QUERY SELECT x.id, x.due, pinlater.record(j), convert_to(
      '0|' || x.attempts || '|0||', 'UTF8') || coalesce(x.problem, '')
    FROM (
      SELECT y.* FROM unnest(q.priorities) p CROSS JOIN LATERAL (
        SELECT due, id, attempts, problem FROM pinlater.ready
        WHERE queue = q.id AND priority = p AND due > now_ms ORDER BY due, id LIMIT most) y
      UNION ALL (SELECT due, id, 0, NULL FROM pinlater.wide
        WHERE queue = q.id AND due > now_ms ORDER BY due, id LIMIT most)
      ORDER BY 1, 2 LIMIT most) x
    JOIN pinlater.job j ON j.id = x.id ORDER BY x.due, x.id;
END $$;

-- Plans must not depend on statistics, which are always outdated for a queue. With these settings
-- every statement uses an index, however small the table was when the plan was made. JIT
-- compilation would take longer than the statements.
DO $$
DECLARE f regprocedure;
BEGIN
  FOR f IN SELECT oid FROM pg_proc WHERE pronamespace = 'pinlater'::regnamespace
    AND proname IN ('claim', 'ack', 'nack', 'extend', 'sweep', 'release', 'retry', 'delete',
                    'enqueue', 'collect', 'register', 'wake_one', 'due_of', 'jobs', 'named', 'later')
  LOOP
    EXECUTE format('ALTER FUNCTION %s SET enable_seqscan = off SET enable_hashjoin = off
      SET enable_mergejoin = off SET enable_bitmapscan = off SET jit = off
      SET plan_cache_mode = force_generic_plan', f);
  END LOOP;
END $$;
