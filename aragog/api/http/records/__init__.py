"""Read records for responses, many at once and in threads."""
