"""HTTP/1.1 over a checked connection: heads, bodies, codings, connections."""
