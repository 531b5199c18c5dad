"""The calls of each Thrift service."""
