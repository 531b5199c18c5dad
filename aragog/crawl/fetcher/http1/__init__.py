"""
HTTP/1.1 heads, framing and bodies, and the connections, TLS and codings that all
versions use.
"""
