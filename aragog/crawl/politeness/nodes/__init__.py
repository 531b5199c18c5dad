"""The limiter's nodes: its Redis servers, and calls to their scripts."""
