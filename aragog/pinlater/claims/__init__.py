"""
Claim handling in a worker process: tracking, acks, renewal and recovery from dead workers.

    claim.py         a claim, and the job's state when the claim ends
    registry.py      the claims that this process holds
    ack_buffer.py    acks and nacks that wait to be sent to the shards
    renewer.py       extends the claims of jobs that still run
    reaper.py        gives back the expired claims of dead workers
    maintenance.py   the thread that runs the three above
    process.py       the registries of this process
    consumer.py      claims the due jobs of the queues that a worker consumes
    gates.py         an application's control over which jobs are claimed
    worker_name.py   the name of this process in its claims
"""
