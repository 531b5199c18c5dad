"""The fetches of a batch: which URLs, at which priority, and their requests side by side."""
