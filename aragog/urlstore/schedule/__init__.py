"""The refresh schedule: when pages are fetched again, and who watches them."""
