"""
The UrlStore, the Fetcher and PinLater over Thrift (docs/thrift.md).

Public:

    server    connections, calls in threads, deadlines, drain
    handlers  the calls of all services
    metrics   the server's metrics
"""
