"""HTTP/1.1, and the connections, TLS and codings that all HTTP versions use."""
