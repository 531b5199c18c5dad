"""HTTP/1.1, and the connections, TLS and codings for all HTTP versions."""
