"""Typed metadata of a page, each value with its provenance. Pure."""
