"""Plans and writes batches of fetched pages."""
