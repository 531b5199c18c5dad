"""Faults of our own infrastructure: outages, damaged files, a Redis used by another store."""
