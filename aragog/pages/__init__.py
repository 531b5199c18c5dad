"""
Parses what crawls need in addition to the data that the library `richpins` extracts. No I/O.

Reads sitemaps, feeds, permitted uses, main texts, and the custom fields that functions or site
rules extract.
"""
