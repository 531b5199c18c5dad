"""Calls of the Thrift services while they run, wait or are answered."""
