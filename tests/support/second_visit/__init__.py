"""What a second visit makes of a stored page: a table of expectations, and a stand that fills it."""
