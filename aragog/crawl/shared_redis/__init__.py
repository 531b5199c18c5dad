"""
State that processes share in Redis. `pinlater.redis` makes the connections.

    nodes.py         several servers that share keys by consistent hashing
    leases.py        leases, for work that only one process may do at a time
    file_rewrite.py  rewrites of the append-only file, which remove deleted data from it
"""
