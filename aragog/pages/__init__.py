"""
Page parsing for crawls, in addition to what the library `richpins` extracts. No I/O.

Reads sitemaps and feeds, permitted uses of pages, custom fields by functions and by rules for
single sites, and main texts.
"""
