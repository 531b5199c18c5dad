"""
State that processes share in Redis. Connections come from `pinlater.redis`.

    nodes.py         distributes keys across several servers by consistent hashing
    leases.py        leases for work that only one process may do at a time
    file_rewrite.py  rewrites the append-only file to remove deleted data
"""
