"""The record of a fetch and its outcomes, from the socket to the store and the crawl log."""
