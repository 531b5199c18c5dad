"""
Page parsing for crawls beyond what the library `richpins` extracts. No I/O.

Sitemaps and feeds; permitted uses of pages; custom fields, by functions and by rules for single
sites; main texts as fields.
"""
