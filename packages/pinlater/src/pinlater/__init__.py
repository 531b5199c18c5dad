"""
A kombu transport that keeps jobs in Redis or PostgreSQL until they are due.

Importing this package registers `pinlater://` without importing kombu. Kombu refuses module paths
in broker URLs, so the alias must exist before the first connection is opened.

For applications:

    worker.py            at_least_once, follow and RunLater, which change Celery workers
    job_types.py         job types: functions with a section in a TOML file
    job_body.py          job bodies that programs in other languages can read
    doors.py             lets other programs use a queue
    brokers.py           broker URLs and Celery's settings for each kind of broker
    publish_receipts.py  reports whether a published job was already there
    gates.py             limits which jobs a worker claims; the rest stay on the server
    admin.py             inspects, pauses, limits and purges queues, retries and deletes jobs
    cli.py               the same operations on the command line
    _command_output.py   the output of those commands
    flower.py            the Queues and Jobs pages in Flower
    dead_letters.py      stores permanently failed messages, on other brokers
    __main__.py          `python -m pinlater`
    redis/               a Redis client, for programs that also store their own data in Redis
    testing/             an in-memory shard, and the tests that every shard must pass
    schemes.py           registers `pinlater://`
    entry_point.py       calls schemes.py in every process that imports kombu
    errors.py            the exceptions

The parts:

    models.py            jobs, claims, states, sizes
    queue_settings.py    a queue's settings: rate, pause, retries, retention; shards apply them
    retry_policy.py      the delays between attempts, and when a job is FAILED
    run_log.py           writes a log line for each run of a job
    envelope.py          converts task messages to jobs and back, and an ETA to a delay
    job_codec.py         the stored format of a job
    shard.py             the interface to one server's queues
    redis_shard.py       a shard on Redis; its scripts are in lua/, claim.lua applies a queue's rate
    redis_poller.py      wakes a worker when Redis has new jobs
    postgres/            a shard on PostgreSQL; functions.sql applies a queue's rate there
    health.py            when claims may be reaped after an outage
    cluster.py           several shards that act as one
    claims.py            the claims that this process holds
    worker_names.py      names of worker processes in claims
    acks.py              acks and nacks of claims, sent in batches
    claim_upkeep.py      extends claims, and reaps those of dead workers
    consumer.py          claims due jobs for a channel
    queue_rows.py        queues and jobs as rows for display
    flower_pages.py      Flower's pages for a broker
    breaker.py           takes a failing server out of rotation, and probes it later
    clock.py             the interface to the system's clocks
    masking.py           URLs and messages without passwords
    terminal.py          prints untrusted text on a terminal
    wording.py           formats times and durations for display
"""

from __future__ import annotations

from pinlater.schemes import register

register()
