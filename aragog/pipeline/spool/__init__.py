"""The spool: a bounded store in Redis for bodies that wait between two stages."""
