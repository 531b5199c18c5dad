"""
A Redis client, for pinlater and for programs that store their own data alongside their jobs.

    address.py     Redis URLs: TCP, TLS, unix socket, Sentinel; pure
    connect.py     creates a client for a URL
    client.py      redis-py's client with less CPU per command
    packer.py      encodes commands in one pass; pure
    queue_keys.py  the keys of a queue
    scripts.py     Lua files, called with named keys and arguments
    errors.py      translates redis-py's errors, and adds remedies
"""
