"""aragog: a distributed, polite fetcher and store for billions of URLs."""
