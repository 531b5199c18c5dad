"""Readers of response headers: media type, Location, Retry-After, dates. Pure."""
