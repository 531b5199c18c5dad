"""A shard on PostgreSQL."""
