"""
Parses pages for crawls, in addition to what the library `richpins` extracts. No I/O.

Reads sitemaps and feeds, the permitted uses of pages, main texts, and custom fields, which
functions or site rules extract.
"""
