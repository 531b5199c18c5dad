"""The Redis servers of the limiter, and calls of their scripts."""
