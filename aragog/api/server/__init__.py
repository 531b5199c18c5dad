"""
The servers for the operations.

Public:

    http        the HTTP API
    thrift      the Thrift services
    listener    accepts connections with or without TLS
    tokens      bearer tokens and their rate limits
    memory      limits on the memory used for clients' requests and responses
    hedging     hedged reads from a standby store, and their metrics
    access_log  a sample of all requests and calls
"""
