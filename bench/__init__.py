"""Benchmarks. Each module is a command: `python -m bench.NAME`."""
