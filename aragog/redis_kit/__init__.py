"""
Redis helpers for all of aragog: clients, Lua scripts, leases, errors.

    address.py       Redis URLs: TCP, TLS, unix socket, Sentinel; pure
    connect.py       a client for a URL
    client.py        redis-py's client with less CPU around a command
    packer.py        commands encoded in one pass; pure
    nodes.py         several servers that share keys by consistent hashing
    scripts.py       Lua files, called with named keys and arguments
    leases.py        what one process may do at a time, until it releases it or its time is over
    file_rewrite.py  the append-only file, written anew without what was deleted
    errors.py        errors of redis-py as errors of aragog
"""
