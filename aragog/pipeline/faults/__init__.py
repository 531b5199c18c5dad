"""Faults of our own infrastructure: outages, damaged files, a store that is not ours."""
