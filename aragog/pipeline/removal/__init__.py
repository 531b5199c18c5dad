"""Removal of what Redis and the broker hold of URLs: after a takedown, or with deleted jobs."""
