"""How the operations are served: HTTP, Thrift, threads, limits, tokens, hedged reads."""
