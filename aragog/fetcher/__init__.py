"""One polite GET, and everything it can come to."""
