"""A small demo web on loopback with pages of every kind, for a first run without a network."""
