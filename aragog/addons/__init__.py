"""What nothing else of aragog imports: each folder is an add-on, deleted by deleting it."""
