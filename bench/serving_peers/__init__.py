"""Servers that bench.serving compares, each with the same reads of the same store."""
