"""An origin with traps and real pages, to score a crawl of it: `python -m bench.traps`."""
