"""
How the operations are served.

Public:

    http        the HTTP API
    thrift      the Thrift services
    listener    how a server listens, accepts connections with TLS or without, and stops
    tokens      bearer tokens and their rates
    memory      what clients can make a server hold
    hedging     reads of a standby store where the first is late, and their metrics
    access_log  a sample of all requests and calls
"""
