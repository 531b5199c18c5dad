"""Detect and decode the character encodings of pages. No I/O."""
