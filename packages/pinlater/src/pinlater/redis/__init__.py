"""
Redis as pinlater uses it, for programs that keep data of their own beside their jobs.

    address.py     Redis URLs: TCP, TLS, unix socket, Sentinel; pure
    connect.py     a client for a URL
    client.py      redis-py's client with less CPU around a command
    packer.py      commands encoded in one pass; pure
    queue_keys.py  the keys of a queue
    scripts.py     Lua files, called with named keys and arguments
    errors.py      errors of redis-py as errors that say what to do
"""
