"""Parses robots.txt files and matches URLs with their rules."""
