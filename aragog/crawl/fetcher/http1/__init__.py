"""HTTP/1.1: heads, framing and bodies. Also connections, TLS and codings for every version."""
