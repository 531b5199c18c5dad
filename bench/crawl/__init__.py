"""Crawl the same pages with aragog and with other crawlers, interleaved in one run."""
