"""The UrlStore over HTTP and Thrift."""
