"""
The claims of a process: what it holds, what it reports, and what it takes over from dead workers.

    claim.py         a claim, and what its end means for the job
    registry.py      the claims that this process holds
    ack_buffer.py    acks and nacks on their way to the shards
    renewer.py       extends the claims of jobs that still run
    reaper.py        gives back the expired claims of dead workers
    maintenance.py   the thread that runs the three above
    process.py       the registries of this process, and its name
"""
