"""When pages are fetched again, and for whom."""
