"""Import and export of a UrlStore: JSON Lines, Parquet, WARC, copies."""
