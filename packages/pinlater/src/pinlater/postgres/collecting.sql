-- collecting: jobs whose body is made of items that were enqueued one by one.
--
-- A job accepts items until it is full or claimed. Adding an item locks the job's row in `ready` or
-- `wide`; claims skip locked rows. A claim locks the row too, and then closes the job.

-- Add items of one priority, group and span to the open job, and to new ones. Locks are taken in
-- the order of spans. Returns how many jobs are new; changes no counters.
CREATE OR REPLACE FUNCTION pinlater.fill(
  qid int, now_ms bigint, f pinlater.frame, j pinlater.job, span_width bigint, span_number bigint,
  dues bigint[], datas bytea[]
) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
  is_wide boolean := span_width > f.span;
  most int := CASE WHEN span_width > f.span THEN 100 ELSE f.most END;
  has pinlater.frame; jid bigint; at int := 1; upto int; created int := 0; first_due bigint;
BEGIN
  SELECT job INTO jid FROM pinlater.collecting c WHERE c.queue = qid AND c.priority = j.priority
    AND c.grp = f.grp AND c.width = span_width AND c.number = span_number;
  SELECT * INTO has FROM pinlater.frame WHERE job = jid AND NOT closed;
  IF FOUND AND is_wide THEN
    PERFORM 1 FROM pinlater.wide w WHERE w.queue = qid AND w.due = has.due AND w.id = jid FOR UPDATE;
  ELSIF FOUND THEN
    PERFORM 1 FROM pinlater.ready r WHERE r.queue = qid AND r.priority = j.priority
      AND r.due = has.due AND r.id = jid FOR UPDATE;
  END IF;
  -- Its row may have been deleted or moved while this waited for the lock.
  IF FOUND THEN SELECT * INTO has FROM pinlater.frame WHERE job = jid AND NOT closed; END IF;
  IF NOT FOUND OR has.items >= most THEN has := NULL; END IF;
  WHILE at <= cardinality(dues) LOOP
    IF has.job IS NULL THEN
      has := f;
      has.job := nextval('pinlater.number');
      has.width := span_width;
      has.items := 0;
      has.closed := false;
      has.due := CASE WHEN is_wide THEN span_number * span_width - 2 * f.span ELSE dues[at] END;
      INSERT INTO pinlater.job (id, queue, priority, due, allowed, head, body)
      VALUES (has.job, qid, j.priority, has.due, j.allowed, convert_to(concat_ws(
        '|', 2, j.priority, j.allowed, now_ms, dues[at], '') || '|', 'UTF8') || f.tail, '');
      INSERT INTO pinlater.frame SELECT has.*;
      IF is_wide THEN INSERT INTO pinlater.wide VALUES (qid, j.priority, has.due, has.job);
      ELSE INSERT INTO pinlater.ready VALUES (qid, j.priority, has.due, has.job); END IF;
      INSERT INTO pinlater.collecting
      VALUES (qid, j.priority, f.grp, span_width, span_number, has.job)
      ON CONFLICT (queue, priority, grp, width, number) DO UPDATE SET job = excluded.job;
      created := created + 1;
    END IF;
    upto := least(cardinality(dues), at + most - has.items - 1);
    INSERT INTO pinlater.item SELECT has.job, has.items + u.n, u.due, u.data
    FROM unnest(dues[at:upto], datas[at:upto]) WITH ORDINALITY u (due, data, n);
    SELECT min(u) INTO first_due FROM unnest(dues[at:upto]) u;
    IF NOT is_wide AND first_due < has.due THEN
      UPDATE pinlater.ready r SET due = first_due WHERE r.queue = qid
        AND r.priority = j.priority AND r.due = has.due AND r.id = has.job;
      UPDATE pinlater.frame SET due = first_due WHERE job = has.job;
    END IF;
    UPDATE pinlater.frame SET items = has.items + upto - at + 1 WHERE job = has.job;
    at := upto + 1;
    has := NULL;
  END LOOP;
  RETURN created;
END $$;

-- Put items into waiting jobs. Spans are wider for items that are due far ahead.
CREATE OR REPLACE FUNCTION pinlater.spread(
  qid int, now_ms bigint, f pinlater.frame, j pinlater.job, dues bigint[], datas bytea[]
) RETURNS int LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE created int := 0; b record;
BEGIN
  FOR b IN
    SELECT width, div(due::numeric, width)::bigint AS number, array_agg(due ORDER BY n) AS dues,
      array_agg(data ORDER BY n) AS datas
    FROM (
      SELECT u.*, (
        SELECT f.span * power(8::numeric, k) FROM generate_series(0, 12) k
        WHERE u.due - now_ms < f.span * power(8::numeric, k) * 16 ORDER BY k LIMIT 1
      )::bigint AS width
      FROM unnest(dues, datas) WITH ORDINALITY u (due, data, n)) x
    GROUP BY 1, 2 ORDER BY 1, 2
  LOOP
    created := created
      + pinlater.fill(qid, now_ms, f, j, b.width, b.number, b.dues, b.datas);
  END LOOP;
  RETURN created;
END $$;

CREATE OR REPLACE FUNCTION pinlater.collect(
  q_name text, prio int, allow int, tail bytea, grp bytea, span bigint, most int,
  prefix bytea, suffix bytea, delays bigint[], datas bytea[]
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  qid int := pinlater.queue_id(q_name);
  now_ms bigint := pinlater.now_ms();
  f pinlater.frame; j pinlater.job; d pinlater.stat;
BEGIN
  PERFORM pinlater.durably();
  f.span := span; f.most := most; f.grp := grp; f.tail := tail; f.prefix := prefix;
  f.suffix := suffix; j.priority := prio; j.allowed := allow;
  d.queue := qid;
  PERFORM pinlater.note_priorities(qid, ARRAY[prio]::smallint[]);
  d.enqueued := pinlater.spread(
    qid, now_ms, f, j, ARRAY(SELECT now_ms + u FROM unnest(delays) u), datas);
  d.pending[prio + 1] := d.enqueued;
  PERFORM pinlater.tally(d);
END $$;

-- Spread the items of up to ten wide jobs over narrower spans; the next claim continues.
CREATE OR REPLACE FUNCTION pinlater.break_up(qid int, now_ms bigint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE w record; f pinlater.frame; j pinlater.job; d pinlater.stat; created int;
  dues bigint[]; datas bytea[];
BEGIN
  d.queue := qid;
  FOR w IN DELETE FROM pinlater.wide WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM pinlater.wide x WHERE x.queue = qid AND x.due <= now_ms
    ORDER BY x.due, x.id LIMIT 10 FOR UPDATE SKIP LOCKED)) RETURNING *
  LOOP
    SELECT * INTO f FROM pinlater.frame WHERE job = w.id;
    SELECT * INTO j FROM pinlater.job WHERE id = w.id;
    SELECT array_agg(due ORDER BY n), array_agg(data ORDER BY n) INTO dues, datas
    FROM pinlater.item WHERE job = w.id;
    PERFORM pinlater.forget_items(ARRAY[w.id]);
    DELETE FROM pinlater.job WHERE id = w.id;
    created := pinlater.spread(qid, now_ms, f, j, dues, datas);
    d.divided := coalesce(d.divided, 0) + 1;
    d.enqueued := coalesce(d.enqueued, 0) + created;
    d.pending[w.priority + 1] := coalesce(d.pending[w.priority + 1], 0) + created - 1;
  END LOOP;
  IF d.divided > 0 THEN PERFORM pinlater.tally(d); END IF;
END $$;
