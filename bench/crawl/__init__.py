"""Crawl the same pages with aragog and with Scrapy, interleaved in one run."""
