"""An origin with crawler traps beside real pages, and what a crawl of it fetches: `python -m bench.traps`."""
