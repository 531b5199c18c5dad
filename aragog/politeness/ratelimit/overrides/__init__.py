"""Overrides of single domains and hosts: from a file, and set while the system runs."""
