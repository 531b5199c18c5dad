"""The UrlStore, the Fetcher and PinLater over Thrift (docs/thrift.md)."""
