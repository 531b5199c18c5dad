"""
A kombu transport that keeps jobs on their server until they are due: Redis or PostgreSQL.

Importing this package registers `pinlater://`: kombu refuses module paths in broker URLs, so the
alias must exist before the first connection is opened. kombu itself is not imported with it.

For applications:

    worker.py            at_least_once, follow, RunLater: what a Celery worker does differently
    job_types.py         job types of a function and a section of a TOML file
    job_body.py          bodies that programs in other languages read
    doors.py             which other programs may use a queue
    brokers.py           broker URLs, and Celery's settings for each kind of broker
    publish_receipts.py  whether a published job was already there
    gates.py             how a worker leaves jobs on the server while it has no room for them
    admin.py             inspects, pauses, limits and purges queues, retries and deletes jobs
    cli.py               the same on the command line
    _command_output.py   what those commands print
    flower.py            the pages Queues and Jobs in Flower
    dead_letters.py      keeps messages that failed for good, on other brokers
    __main__.py          `python -m pinlater`
    redis/               Redis for programs that keep data of their own beside their jobs
    testing/             a shard in memory, and what every shard promises
    schemes.py           registers `pinlater://`
    entry_point.py       does so wherever kombu is imported
    errors.py            what it raises, by remedy

The parts:

    models.py            jobs, claims, states, sizes
    queue_settings.py    a queue's settings: rate, pause, retries, retention; shards apply them
    retry_policy.py      the delays between attempts, and when a job is given up
    run_log.py           a line in the log for each run of a job
    envelope.py          task messages to jobs and back; where an ETA becomes a delay
    job_codec.py         the stored format of a job
    shard.py             the port: one server's queues
    redis_shard.py       a shard on Redis; its scripts are in lua/, claim.lua applies a queue's rate
    redis_poller.py      how a worker hears of its new jobs
    postgres/            a shard on PostgreSQL; functions.sql applies a queue's rate there
    health.py            when claims may be reaped after an outage
    cluster.py           several shards that act as one
    claims.py            the claims that this process holds
    worker_names.py      names of worker processes, as claims contain them
    acks.py              how they end
    claim_upkeep.py      extends them, and returns those of dead workers
    consumer.py          claims due jobs for a channel
    queue_rows.py        queues and jobs as rows for people
    flower_pages.py      Flower's pages of a broker
    breaker.py           leaves a server out after errors, and asks it again after a while
    clock.py             the port through which code reads the time
    masking.py           URLs and messages without passwords
    terminal.py          prints untrusted text on a terminal
    wording.py           times and durations as people read them
"""

from __future__ import annotations

from pinlater.schemes import register

register()
