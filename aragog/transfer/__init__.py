"""Import and export of a UrlStore: JSON Lines, tables, WARC, copies."""
