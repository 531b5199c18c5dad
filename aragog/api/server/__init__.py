"""
The servers for the operations.

Public:

    http        the HTTP API
    thrift      the Thrift services
    listener    listens, accepts connections with or without TLS, and stops
    tokens      bearer tokens and their rates
    memory      limits on memory that clients make a server use
    hedging     hedged reads from a standby store, and their metrics
    access_log  a sample of all requests and calls
"""
