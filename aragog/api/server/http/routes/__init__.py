"""The routes of the API, one module per group of paths."""
