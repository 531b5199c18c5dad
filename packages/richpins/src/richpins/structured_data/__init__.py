"""Read structured data in every syntax into one graph of nodes. No I/O."""
