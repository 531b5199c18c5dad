"""Additions to Flower: pages of domains and URLs, the explanation of a URL, metrics."""
