"""Structured data in every syntax, read into one graph of nodes. Pure."""
