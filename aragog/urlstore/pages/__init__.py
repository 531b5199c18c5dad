"""Pages of the UrlStore: reading and writing nodes, fields and facts."""
