"""The UrlStore for other programs, over HTTP (docs/http.md) and Thrift (docs/thrift.md)."""
