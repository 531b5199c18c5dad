"""
Redis helpers for all of aragog: clients, Lua scripts, expiring locks, errors.

    address.py   Redis URLs: TCP, TLS, unix socket, Sentinel; pure
    connect.py   a client for a URL
    nodes.py     several servers that share keys by consistent hashing
    scripts.py   Lua files, called with named keys and arguments
    locks.py     locks that expire
    errors.py    errors of redis-py as errors of aragog
"""
