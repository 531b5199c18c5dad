"""Who this crawler is: its keys, signatures of its requests, and what it publishes about itself."""
