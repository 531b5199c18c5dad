"""The HTTP client of the crawler: one polite GET per URL, returned as an outcome."""
