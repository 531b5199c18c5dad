"""The UrlStore: every read and write goes to the canonical URL."""
