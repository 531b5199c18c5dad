"""Politeness: rate limits per domain, and robots.txt rules per origin."""
