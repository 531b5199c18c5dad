"""Plans and writes a batch of fetched pages."""
