"""Zen: nodes, properties, edges, indexes and counts over cell tables."""
