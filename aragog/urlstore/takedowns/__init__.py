"""Takedowns: remove pages, hosts and domains, and refuse them from then on."""
