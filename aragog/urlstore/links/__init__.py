"""Outlinks and inlinks of pages, packed and compacted."""
