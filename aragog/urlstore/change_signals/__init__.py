"""
Signals of change: what sitemaps and feeds say of pages, how far each host is believed, and when
such a file is read again.

Public:

- `trust`: how far the dates of a host have proved true; pure.
- `marks`: what a file said of one page, and what follows from it; pure.
- `sources`: when a sitemap or feed is read again; pure.
- `signals`: the same in the store.
"""
