"""The HTTP API of the UrlStore, with JSON bodies."""
