"""
What a crawl reads of pages beside their facts, which the library `richpins` has. No I/O.

Sitemaps and feeds; what pages may be used for; fields of one's own, by functions and by rules for
single sites; main texts as fields.
"""
