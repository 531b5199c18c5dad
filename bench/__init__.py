"""Benchmarks; each is a command that anybody can run."""
