"""
Parses pages for crawls, in addition to what the library `richpins` extracts. No I/O.

Reads sitemaps and feeds, the permitted uses of pages, main texts, and custom fields: those that
functions extract and those of rules for single sites.
"""
