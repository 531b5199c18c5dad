"""A crawl of a large web in virtual time (`python -m bench.simulate`)."""
