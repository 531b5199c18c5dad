"""Remove URLs from Redis and the broker: after a takedown, or with deleted jobs."""
