"""The kombu transport `pinlater://`."""
