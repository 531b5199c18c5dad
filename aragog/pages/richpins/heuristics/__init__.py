"""Visible-text heuristics: what a page shows where its markup says nothing. Pure."""
