"""Links of pages, read from both ends and through aliases."""
