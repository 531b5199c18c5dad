"""Checked connections, TLS, bodies and codings; heads and framing of HTTP/1.1."""
