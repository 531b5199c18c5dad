"""A small web on loopback, for a first run without a network: pages of every kind."""
