"""The change feed of a UrlStore, and its webhooks."""
