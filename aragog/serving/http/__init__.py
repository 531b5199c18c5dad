"""The UrlStore over HTTP and JSON."""
