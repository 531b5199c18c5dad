"""The effect of a second visit on a stored page: a table of expectations, and its harness."""
