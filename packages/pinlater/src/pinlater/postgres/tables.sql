-- tables: the layout of a shard, version 2. Instants are milliseconds since the epoch.
--
-- Rows that change often are narrow, so that dead rows are small. A job's header and body are
-- written once and deleted once; its state is given by which of `ready`, `running` or `ended`
-- contains its id. Each order has an index: a claim reads `ready_pkey` from its start, and meets
-- only claimable rows.

CREATE SCHEMA IF NOT EXISTS pinlater;

CREATE TABLE pinlater.meta (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  layout int NOT NULL,
  code int NOT NULL,
  started timestamptz NOT NULL,      -- start time of the server, as last seen
  timeline text NOT NULL,            -- changes when a replica is promoted
  refused bigint NOT NULL DEFAULT 0  -- claims up to this token may have lost writes
);

-- Numbers of jobs and tokens of claims. No number is used twice.
CREATE SEQUENCE pinlater.number;

CREATE TABLE pinlater.queue (
  id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text NOT NULL UNIQUE,
  settings jsonb NOT NULL DEFAULT '{}',
  priorities smallint[] NOT NULL DEFAULT '{}',  -- those that any of its jobs had
  tokens float8,                                -- tokens of the rate limit's bucket; NULL: it is full
  filled_at bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

CREATE TABLE pinlater.job (
  id bigint PRIMARY KEY,
  queue int NOT NULL,
  priority smallint NOT NULL,
  due bigint NOT NULL,      -- the due time that the producer requested
  allowed int NOT NULL,     -- attempts; 0: the queue's setting
  unique_key bytea,
  head bytea NOT NULL,      -- the record up to the body; begins with 2 if the job collects items
  body bytea NOT NULL
);

CREATE TABLE pinlater.ready (
  queue int NOT NULL,
  priority smallint NOT NULL,
  due bigint NOT NULL,
  id bigint NOT NULL,
  attempts int NOT NULL DEFAULT 0,
  problem bytea,            -- NULL: it was never claimed
  PRIMARY KEY (queue, priority, due, id)
);
-- A job that was never claimed is found by its `due` time; there are few other jobs.
CREATE INDEX ready_again ON pinlater.ready (id) WHERE problem IS NOT NULL;

CREATE TABLE pinlater.running (
  id bigint PRIMARY KEY,
  queue int NOT NULL,
  priority smallint NOT NULL,
  until bigint NOT NULL,
  token bigint NOT NULL,
  attempts int NOT NULL,
  since bigint NOT NULL,
  worker bytea NOT NULL,
  problem bytea NOT NULL
);
CREATE INDEX running_until ON pinlater.running (queue, until, id);

CREATE TABLE pinlater.ended (
  queue int NOT NULL,
  state smallint NOT NULL,  -- 2: SUCCEEDED, 3: FAILED
  at bigint NOT NULL,
  id bigint NOT NULL,
  entry bytea NOT NULL      -- head, then attempts|claimed at|ended at|worker|error
);
CREATE INDEX ended_at ON pinlater.ended (queue, state, at, id);

CREATE TABLE pinlater.held_key (
  queue int NOT NULL,
  key bytea NOT NULL,
  id bigint NOT NULL,
  PRIMARY KEY (queue, key)
);

-- Jobs that collect items. Items due far ahead wait in wide jobs, which a claim breaks up shortly
-- before the first of their items is due; a wide job is in `wide`, and never claimed.
CREATE TABLE pinlater.frame (
  job bigint PRIMARY KEY,
  due bigint NOT NULL,       -- the due time in `ready` or `wide`
  width bigint NOT NULL,
  span bigint NOT NULL,
  most int NOT NULL,
  grp bytea NOT NULL,
  tail bytea NOT NULL,       -- the part name|key| of the head
  prefix bytea NOT NULL,
  suffix bytea NOT NULL,
  items int NOT NULL,
  closed boolean NOT NULL DEFAULT false  -- true after a claim
) WITH (fillfactor = 50);

CREATE TABLE pinlater.item (
  job bigint NOT NULL,
  n int NOT NULL,
  due bigint NOT NULL,
  data bytea NOT NULL,
  PRIMARY KEY (job, n)
);

CREATE TABLE pinlater.wide (
  queue int NOT NULL,
  priority smallint NOT NULL,
  due bigint NOT NULL,
  id bigint NOT NULL,
  PRIMARY KEY (queue, due, id)
);

-- The job that collects the items of a span.
CREATE TABLE pinlater.collecting (
  queue int NOT NULL,
  priority smallint NOT NULL,
  grp bytea NOT NULL,
  width bigint NOT NULL,
  number bigint NOT NULL,
  job bigint NOT NULL,
  PRIMARY KEY (queue, priority, grp, width, number)
) WITH (fillfactor = 50);

-- Counters. Each connection uses the row of its own slot, so that connections do not wait for each
-- other.
CREATE TABLE pinlater.stat (
  queue int NOT NULL,
  slot int NOT NULL,
  pending bigint[] NOT NULL DEFAULT '{0,0,0,0,0,0,0,0,0,0}',  -- jobs by priority
  running bigint NOT NULL DEFAULT 0,
  ok bigint NOT NULL DEFAULT 0,
  bad bigint NOT NULL DEFAULT 0,
  claimed bigint NOT NULL DEFAULT 0,
  deleted bigint NOT NULL DEFAULT 0,
  divided bigint NOT NULL DEFAULT 0,
  enqueued bigint NOT NULL DEFAULT 0,
  existing bigint NOT NULL DEFAULT 0,
  expired bigint NOT NULL DEFAULT 0,
  failed bigint NOT NULL DEFAULT 0,
  limited bigint NOT NULL DEFAULT 0,
  released bigint NOT NULL DEFAULT 0,
  restarted bigint NOT NULL DEFAULT 0,
  retried bigint NOT NULL DEFAULT 0,
  stale bigint NOT NULL DEFAULT 0,
  succeeded bigint NOT NULL DEFAULT 0,
  swept bigint NOT NULL DEFAULT 0,
  late_ms bigint NOT NULL DEFAULT 0,
  later_than_1000_ms bigint NOT NULL DEFAULT 0,
  later_than_10000_ms bigint NOT NULL DEFAULT 0,
  later_than_60000_ms bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (queue, slot)
) WITH (fillfactor = 20);

-- Workers that wait for a notification, by queue name; the queue need not exist yet. A crash may
-- empty the table; the workers then register again.
CREATE UNLOGGED TABLE pinlater.listener (
  queue text NOT NULL,
  channel text NOT NULL,
  at bigint NOT NULL,
  PRIMARY KEY (queue, channel)
) WITH (fillfactor = 50);

-- By default a table is vacuumed when a fifth of it is dead, which for a queue takes hours. Here a
-- fixed number of dead rows triggers it, however many jobs wait, and vacuum does not pause: it
-- reads little, from memory. Tables whose rows are never deleted do not need this.
DO $$
DECLARE name text;
BEGIN
  FOREACH name IN ARRAY '{job,ready,running,ended,held_key,frame,item,wide,collecting}'::text[] LOOP
    EXECUTE format('ALTER TABLE pinlater.%I SET (
      autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000,
      autovacuum_vacuum_insert_scale_factor = 0.2, autovacuum_vacuum_cost_delay = 0,
      autovacuum_analyze_scale_factor = 0.5, autovacuum_analyze_threshold = 50000)', name);
  END LOOP;
  FOREACH name IN ARRAY '{stat,queue,listener}'::text[] LOOP
    EXECUTE format('ALTER TABLE pinlater.%I SET (
      autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
      autovacuum_vacuum_cost_delay = 0)', name);
  END LOOP;
END $$;
