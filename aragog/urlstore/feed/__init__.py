"""The change feed and its webhooks."""
