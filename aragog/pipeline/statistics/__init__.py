"""The counters and measurements of all processes, kept in Redis for operators."""
