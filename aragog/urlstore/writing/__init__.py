"""Plan and write a batch of fetched pages."""
