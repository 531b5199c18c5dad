"""
What several processes share in Redis, beside `pinlater.redis`, which connects to it.

    nodes.py         several servers that share keys by consistent hashing
    leases.py        what one process may do at a time, until it releases it or its time is over
    file_rewrite.py  the append-only file, written anew without what was deleted
"""
